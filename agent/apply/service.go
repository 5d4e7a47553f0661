package apply

import (
	"cmp"

	"github.com/axle-cd/axle/agent/apply/plan"
	"github.com/axle-cd/axle/agent/ignore"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	specv1 "github.com/axle-cd/axle/api/spec/v1"
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
		PruneOff:      cfg.Prune != nil && !*cfg.Prune,
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
