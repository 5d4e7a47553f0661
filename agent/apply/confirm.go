package apply

// Confirm handles a person's request to sync a service whose files and settings are
// those of its last pass. It reports from memory whether everything is as that pass
// left it; if so, it also records the request. Otherwise a Pass finds out more. It
// sends and stores nothing; the next pass that stores the inventory also stores the
// request.
func (e *Engine) Confirm(service Service) (Result, bool) {
	t := e.begin(service)
	defer e.end(t)
	known, stale := e.owners.known(t)
	if known == nil || stale || service.Partial != "" || len(service.Windows) > 0 || !appliedFor(known, service) {
		return Result{}, false
	}
	r := &run{Engine: e, service: service, state: t, before: known, next: known}
	for _, had := range known.entries {
		if !r.asLeft(had) {
			return Result{}, false
		}
	}
	noted := known.clone()
	noted.specDigest, noted.syncRequest = service.SpecDigest, max(known.syncRequest, service.SyncRequest)
	e.owners.commit(t, noted)
	return Result{Phase: PhaseApplied, Sync: SyncSynced, Unchanged: len(known.entries)}, true
}

// appliedFor reports whether the inventory says that exactly the service's files and
// settings are applied, completely.
func appliedFor(i *inventory, s Service) bool {
	return i.phase == PhaseApplied && i.held == 0 && i.approval >= s.PruneApproval &&
		i.tarballDigest == s.TarballDigest && i.goal == s.goal() && i.asSettled(s.Settings) &&
		i.name == s.Name && i.namespace == s.Namespace && i.strict == s.Strict
}

// asLeft reports whether an object needs no write, as unchanged does for an object
// that was rendered again.
func (r *run) asLeft(had entry) bool {
	switch {
	case had.leaving:
		return false
	case had.hook.runs:
		return had.hook.moment == momentFail || had.hook.key != 0 && had.hook.end == hookSucceeded
	}
	return r.unchanged(&item{kind: had.kind, ref: had.ref, hash: had.hash}, had)
}
