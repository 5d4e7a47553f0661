package apply

import (
	"github.com/axle-cd/axle/agent/apply/plan"
	"github.com/axle-cd/axle/agent/ignore"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/scrub"
	"github.com/axle-cd/axle/internal/syncwindow"
)

// Service is what a pass needs besides the objects, Pending a service that has not been
// rendered, Problem one object that could not be handled.
type (
	Service = plan.Service
	Pending = plan.Pending
	Problem = plan.Problem
)

// FromSpec converts the hub's spec. The scrubber knows its secrets.
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

// windowsOf parses the windows. One that cannot be parsed comes from a newer hub. It
// denies everything but manual syncs, because an unknown window must not be ignored.
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
