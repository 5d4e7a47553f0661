package apply

import (
	"github.com/axle-cd/axle/agent/apply/inventory"
	"github.com/axle-cd/axle/agent/apply/wave"
)

// Confirm handles a person's request to sync a service whose files and settings are
// those of its last pass. It reports from memory whether everything is as that pass
// left it; if so, it also records the request. Otherwise a Pass finds out more. It
// sends and stores nothing; the next pass that stores the inventory also stores the
// request.
func (e *Engine) Confirm(service Service) (Result, bool) {
	t := e.begin(service)
	defer e.end(t)
	known, stale, _ := e.owners.Known(t)
	if known == nil || stale || service.Partial != "" || len(service.Windows) > 0 || !appliedFor(known, service) {
		return Result{}, false
	}
	r := &run{Engine: e, service: service, state: t, before: known, next: known}
	for _, had := range known.Entries {
		if !r.asLeft(had) {
			return Result{}, false
		}
	}
	noted := known.Clone()
	noted.SpecDigest, noted.SyncRequest = service.SpecDigest, max(known.SyncRequest, service.SyncRequest)
	e.owners.Commit(t, noted)
	return Result{Phase: PhaseApplied, Sync: SyncSynced, Unchanged: len(known.Entries)}, true
}

// appliedFor reports whether the inventory says that exactly the service's files and
// settings are applied, completely.
func appliedFor(i *inventory.Inventory, s Service) bool {
	return i.Phase == PhaseApplied && i.Held == 0 && i.Approval >= s.PruneApproval &&
		i.TarballDigest == s.TarballDigest && i.Goal == s.Goal() && i.AsSettled(s.Settings) &&
		i.Name == s.Name && i.Namespace == s.Namespace && i.Strict == s.Strict
}

// asLeft reports whether an object needs no write, as unchanged does for an object
// that was rendered again.
func (r *run) asLeft(had inventory.Entry) bool {
	switch {
	case had.Leaving:
		return false
	case had.Hook.Runs:
		return had.Hook.Moment == wave.MomentFail || had.Hook.Key != 0 && had.Hook.End == wave.HookSucceeded
	}
	return r.unchanged(&wave.Item{Kind: had.Kind, Ref: had.Ref, Hash: had.Hash}, had)
}
