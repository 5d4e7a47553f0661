package apply

import (
	"github.com/axle-cd/axle/agent/ignore"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/scrub"
	"github.com/axle-cd/axle/internal/syncwindow"
)

// Service is what a pass must know beside the objects.
type Service struct {
	ID        string
	Name      string
	Namespace string
	// TarballDigest and SpecDigest name what was rendered. They are stored
	// once all of it is applied.
	TarballDigest string
	SpecDigest    string
	// Seen is the position of the list that named them, stored with them.
	Seen string
	// Revision names the files and the settings without what people ask of the
	// service and what its cluster is: hooks run once for each. The digests
	// when empty.
	Revision string
	// Settings names the settings without what people ask of the service. While
	// they and the files are those of the last pass, a new SpecDigest alone is
	// not stored. Empty stores every one.
	Settings string
	// Windows say when a new revision may be taken.
	Windows []syncwindow.Window
	// SyncRequest counts what people asked for, and Only names the objects that
	// the last request is about; empty is all.
	SyncRequest int64
	Only        []string
	// Adopt takes over objects that another tool or a person made.
	Adopt bool
	// RequireOwnership refuses objects of another service of ours. Without it
	// they are taken over.
	RequireOwnership bool
	// CreateNamespace makes Namespace when it is missing.
	CreateNamespace bool
	// DeleteNamespace removes Namespace after a drain.
	DeleteNamespace bool
	// EnforceNamespace puts every object into Namespace and refuses objects of
	// the whole cluster.
	EnforceNamespace     bool
	NamespaceLabels      map[string]string
	NamespaceAnnotations map[string]string
	// PruneApproval releases a held prune when it is higher than it was then.
	PruneApproval int64
	// Partial says why the objects may not be all of them (a skipped file, a
	// lookup that could not be answered). Then nothing is pruned.
	Partial string
	// Ignore leaves fields to others.
	Ignore []ignore.Rule
	// Strict takes back what people's tools wrote, instead of reporting it.
	Strict bool
	// LeftOut says which parts of the service no objects were made of. What is
	// not rendered may be one of those, so nothing is pruned by itself.
	LeftOut []string
	// Unsettled lists the services of this cluster of which nobody knows what
	// they want by now. Nil is none.
	Unsettled func() []Pending
	// Released lets a drain go on that waits for them.
	Released bool
	// Scrub removes the service's secret values from every text. Nil changes
	// nothing.
	Scrub *scrub.Scrubber
	// LookedUp are values that a render read of Secrets of the cluster, by what
	// to call them: a diff hides them.
	LookedUp map[string]string
}

// goal names the revision that a pass is for.
func (s Service) goal() string {
	if s.Revision != "" {
		return s.Revision
	}
	return s.TarballDigest + " " + s.SpecDigest
}

// FromSpec reads the hub's spec. The scrubber knows its secrets.
func FromSpec(spec *agentv1.ServiceSpec, tarballDigest string) Service {
	cfg := spec.GetSyncConfig()
	secrets := map[string]string{}
	for name, value := range spec.GetSecrets() {
		secrets["config."+name] = value
	}
	for name, value := range spec.GetHidden() {
		secrets[name] = value
	}
	return Service{
		ID: spec.GetId(), Name: spec.GetName(), Namespace: spec.GetNamespace(),
		TarballDigest: tarballDigest, SpecDigest: spec.GetSpecDigest(),
		Adopt:                spec.GetAdopt(),
		RequireOwnership:     cfg == nil || cfg.RequireOwnership == nil || cfg.GetRequireOwnership(),
		CreateNamespace:      cfg == nil || cfg.CreateNamespace == nil || cfg.GetCreateNamespace(),
		DeleteNamespace:      cfg.GetDeleteNamespace(),
		EnforceNamespace:     cfg.GetEnforceNamespace(),
		NamespaceLabels:      cfg.GetLabels(),
		NamespaceAnnotations: cfg.GetAnnotations(),
		PruneApproval:        spec.GetPruneApproval(),
		Windows:              windowsOf(spec),
		SyncRequest:          spec.GetSyncRequest(),
		Only:                 spec.GetSyncResources(),
		Strict:               spec.GetDrift() == "strict",
		Ignore:               ignore.FromSpec(cfg.GetDiffNormalizers()),
		Scrub:                scrub.New(secrets),
	}
}

// windowsOf reads the windows. One that cannot be read was taken by a newer
// hub; it denies all but what a person asks for, since a window that is not
// understood must not be lost.
func windowsOf(spec *agentv1.ServiceSpec) []syncwindow.Window {
	var all []syncwindow.Window
	for _, m := range spec.GetSyncWindows() {
		w, err := syncwindow.Parse(syncwindow.Spec{Kind: m.GetKind(), Schedule: m.GetSchedule(), Duration: m.GetDuration(), TimeZone: m.GetTimeZone(), Manual: m.GetManualSync(), Level: m.GetLevel()})
		if err != nil {
			w, _ = syncwindow.Parse(syncwindow.Spec{Kind: syncwindow.Deny, Schedule: "* * * * *", Duration: "1m", Manual: true})
		}
		all = append(all, w)
	}
	return all
}
