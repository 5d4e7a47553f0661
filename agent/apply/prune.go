package apply

import (
	"context"
	"fmt"
)

// pruneAll deletes what the service no longer renders, last waves first, then records
// the revision as applied.
func (r *run) pruneAll(ctx context.Context, leaving []entry) error {
	if waits, err := r.othersFirst(ctx, leaving); err != nil || waits {
		return err
	}
	if r.dirty {
		// Record what will be deleted before deleting it.
		if err := r.save(ctx); err != nil {
			return err
		}
	}
	for _, e := range leaving {
		if err := r.pruneOne(ctx, e); err != nil {
			if away(err) {
				return unavailable(err)
			}
			r.result.Problems = append(r.result.Problems, Problem{Source: "prune", Ref: e.ref, Message: explain("delete", e.ref, err)})
		}
	}
	left := r.leaving()
	if len(left) == 0 {
		return r.applied(ctx)
	}
	r.next.phase, r.dirty = PhaseWaiting, true
	r.result.Sync, r.result.Again = SyncApplying, againWaiting
	r.result.Message = fmt.Sprintf("%s is still to be deleted", left[0].ref)
	if text := firstProblem(r.result.Problems); text != "" {
		r.result.Sync, r.result.Message, r.result.Again = SyncFailed, text, againRefused
	}
	return r.saveIfDirty(ctx)
}

func (r *run) pruneOne(ctx context.Context, e entry) error {
	forget := func() { delete(r.next.entries, e.ref); r.dirty = true }
	if heir, _ := r.owners.claims.heir(r.service.ID, e.ref); heir != "" {
		if err := r.handOver(ctx, r.client, r.service.ID, heir, e); err != nil {
			return err
		}
		r.result.Left++
		forget()
		return nil
	}
	if !prunable(r.next, e) {
		if err := unmark(ctx, r.client, r.service.ID, e); err != nil {
			return err
		}
		r.result.Left++
		forget()
		return nil
	}
	live, found, synced := r.cfg.Live.Lookup(e.kind, e.ref)
	what, err := dispose(ctx, r.client, r.service.ID, e, live, found, synced)
	switch {
	case err != nil || what == decisionWait:
		return err
	case what == decisionForget:
		r.result.Left++
	default:
		r.result.Pruned++
	}
	forget()
	return nil
}
