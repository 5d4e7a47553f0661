package apply

import (
	"cmp"

	"github.com/axle-cd/axle/agent/ignore"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	specv1 "github.com/axle-cd/axle/api/spec/v1"
	"github.com/axle-cd/axle/internal/scrub"
	"github.com/axle-cd/axle/internal/syncwindow"
)

// Service is what a pass needs besides the objects.
type Service struct {
	ID        string
	Name      string
	Namespace string
	// TarballDigest and SpecDigest name the rendered content. They are stored once
	// all of it is applied.
	TarballDigest string
	SpecDigest    string
	// Seen is the position of the list that named them, stored with them.
	Seen string
	// Revision names the files and the settings, without people's requests and
	// without data of the cluster: hooks run once for each revision. If empty, the
	// digests are used.
	Revision string
	// Settings names the settings without people's requests. While settings and files
	// are those of the last pass, a new SpecDigest alone is not stored. If empty, all
	// are.
	Settings string
	// Windows say when a new revision may be applied.
	Windows []syncwindow.Window
	// SyncRequest counts people's requests. Only names the objects of the last
	// request; empty means all.
	SyncRequest int64
	Only        []string
	// Adopt takes over objects that another tool or a person made.
	Adopt bool
	// RequireOwnership refuses objects of another service of ours. Without it they
	// are taken over.
	RequireOwnership bool
	// CreateNamespace creates Namespace if it is missing.
	CreateNamespace bool
	// DeleteNamespace deletes Namespace after a drain.
	DeleteNamespace bool
	// EnforceNamespace puts every object into Namespace and refuses cluster-scoped
	// objects.
	EnforceNamespace     bool
	NamespaceLabels      map[string]string
	NamespaceAnnotations map[string]string
	// PruneApproval releases a held prune if it is higher than when the prune was
	// held.
	PruneApproval int64
	// Partial says why the objects may be incomplete (a skipped file, a lookup that
	// could not be answered). Then nothing is pruned.
	Partial string
	// Ignore leaves fields to others.
	Ignore []ignore.Rule
	// Strict reverts what people's tools wrote, instead of reporting it.
	Strict bool
	// LeftOut says which parts of the service could not be rendered. A missing object
	// may belong to one of them, so nothing is pruned automatically.
	LeftOut []string
	// Unsettled lists the services of this cluster that have not been rendered, so
	// that their objects are unknown. Nil means none.
	Unsettled func() []Pending
	// Released lets a drain continue that waits for them.
	Released bool
	// Scrub removes the service's secret values from every text. Nil removes nothing.
	Scrub *scrub.Scrubber
	// LookedUp are values that a render read from Secrets of the cluster, by their
	// name. A diff hides them.
	LookedUp map[string]string
}

// goal names the revision of a pass.
func (s Service) goal() string {
	if s.Revision != "" {
		return s.Revision
	}
	return s.TarballDigest + " " + s.SpecDigest
}

// FromSpec converts the hub's spec. The scrubber knows its secrets.
func FromSpec(spec *agentv1.ServiceSpec, tarballDigest string) Service {
	declared := spec.Declared()
	cfg := cmp.Or(declared.SyncConfig, &specv1.SyncConfig{})
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
		Adopt:            declared.Adopt,
		RequireOwnership: cfg.RequireOwnership == nil || *cfg.RequireOwnership,
		CreateNamespace:  cfg.CreateNamespace == nil || *cfg.CreateNamespace,
		DeleteNamespace:  cfg.DeleteNamespace,
		EnforceNamespace: cfg.EnforceNamespace,
		NamespaceLabels:  cfg.Labels, NamespaceAnnotations: cfg.Annotations,
		PruneApproval: spec.GetPruneApproval(), SyncRequest: spec.GetSyncRequest(), Only: spec.GetSyncResources(),
		Windows: windowsOf(declared.SyncWindows),
		Strict:  declared.Drift == "strict", Ignore: ignore.FromSpec(cfg.DiffNormalizers),
		Scrub: scrub.New(secrets),
	}
}

// windowsOf parses the windows. One that cannot be parsed comes from a newer hub. It
// denies everything but manual syncs, because an unknown window must not be ignored.
func windowsOf(declared []specv1.SyncWindow) []syncwindow.Window {
	var all []syncwindow.Window
	for _, d := range declared {
		w, err := syncwindow.Parse(syncwindow.Spec{Kind: d.Kind, Schedule: d.Schedule, Duration: d.Duration, TimeZone: d.TimeZone, Manual: d.ManualSync, Level: d.Level})
		if err != nil {
			w, _ = syncwindow.Parse(syncwindow.Spec{Kind: syncwindow.Deny, Schedule: "* * * * *", Duration: "1m", Manual: true})
		}
		all = append(all, w)
	}
	return all
}
