package apply

import (
	"context"
	"fmt"

	"github.com/axle-cd/axle/agent/apply/inventory"
	"github.com/axle-cd/axle/agent/apply/kubeclient"
	"github.com/axle-cd/axle/agent/apply/prune"
)

// pruneAll deletes what the service no longer renders, last waves first, then records
// the revision as applied.
func (r *run) pruneAll(ctx context.Context, leaving []inventory.Entry) error {
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
			if kubeclient.Away(err) {
				return kubeclient.Unavailable(err)
			}
			r.result.Problems = append(r.result.Problems, Problem{Source: "prune", Ref: e.Ref, Message: kubeclient.Explain("delete", e.Ref, err)})
		}
	}
	left, _ := r.leaving()
	if len(left) == 0 {
		return r.applied(ctx)
	}
	r.recordWritten()
	r.next.Phase, r.dirty = PhaseWaiting, true
	r.result.Sync, r.result.Again = SyncApplying, againWaiting
	r.result.Message = fmt.Sprintf("%s is still to be deleted%s", left[0].Ref, prune.HeldBy(ctx, r.client, left[0]))
	if text := firstProblem(r.result.Problems); text != "" {
		r.result.Sync, r.result.Message, r.result.Again = SyncFailed, text, againRefused
	}
	return r.saveIfDirty(ctx)
}

// stay says what stays because pruning is off, and forgets what is no longer there. While
// the pass may not have seen everything, absence proves nothing.
func stay(ctx context.Context, r *run, staying []inventory.Entry) {
	if r.service.Partial == "" {
		for _, e := range prune.Lost(ctx, r.client, r.service.ID, staying, r.cfg.Live.Lookup) {
			delete(r.next.Entries, e.Ref)
			r.dirty = true
		}
		_, staying = r.leaving()
	}
	if r.result.Held = len(staying); r.result.Held > 0 {
		r.result.Problems = append(r.result.Problems, Problem{Source: "prune", Warning: true, Message: prune.StayingWords(staying)})
	}
}

func (r *run) pruneOne(ctx context.Context, e inventory.Entry) error {
	forget := func() { delete(r.next.Entries, e.Ref); r.dirty = true }
	if heir, _ := r.owners.Claims.Heir(r.service.ID, e.Ref); heir != "" {
		if err := r.handOver(ctx, r.client, r.service.ID, heir, e); err != nil {
			return err
		}
		r.result.Left++
		forget()
		return nil
	}
	if !prune.Prunable(r.next, e) {
		if err := prune.Unmark(ctx, r.client, r.service.ID, e); err != nil {
			return err
		}
		r.result.Left++
		forget()
		return nil
	}
	live, found, synced := r.cfg.Live.Lookup(e.Kind, e.Ref)
	what, err := prune.Dispose(ctx, r.client, r.service.ID, e, live, found, synced)
	switch {
	case err != nil || what == prune.Wait:
		return err
	case what == prune.Forget:
		r.result.Left++
	default:
		r.result.Pruned++
	}
	forget()
	return nil
}
