package apply

import (
	"context"
	"fmt"
	"time"

	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// The bounds of a retry after a hook or a health wait failed.
const (
	retryMin = time.Minute
	retryMax = 10 * time.Minute
)

// defaultStep is for how long one call of Pass starts new writes before it returns.
const defaultStep = 10 * time.Second

// ReasonHook is the reason of a service whose hook failed.
const ReasonHook = "HookFailed"

// takeGoal makes the service's revision the one in progress. While a hook of an
// earlier revision runs it does not, and returns which hook: a new revision never
// interrupts a running migration.
func (r *run) takeGoal() (busy string) {
	n, goal := r.next, r.service.goal()
	if n.goal == goal {
		return ""
	}
	for _, e := range n.entries {
		if !e.hook.runs || e.hook.key == 0 || e.hook.end != hookOpen || e.hook.moment == momentFail {
			continue
		}
		if r.hookSeen(e); r.next.entries[e.ref].hook.end == hookOpen {
			return fmt.Sprintf("hook %s of an earlier revision has not ended", e.ref)
		}
	}
	n.goal, n.reached, n.attempt, n.why = goal, order{}, 0, ""
	n.syncRequest = max(n.syncRequest, r.service.SyncRequest)
	n.retryAt, n.waitUntil = time.Time{}, time.Time{}
	n.phase = PhaseApplying
	return ""
}

// yield ends a pass that may not begin yet.
func (r *run) yield(ctx context.Context, busy string) error {
	r.next.phase = PhaseWaiting
	r.result.Sync, r.result.Message, r.result.Partly, r.result.Again = SyncApplying, "waiting: "+busy, true, againWaiting
	return r.saveIfDirty(ctx)
}

// resting reports whether the next try after a failed hook is still to come. If it is
// due, resting prepares it. A change of settings makes it due at once.
func (r *run) resting() bool {
	n := r.next
	if n.phase != PhaseFailed || n.why == "" {
		return false
	}
	if left := n.retryAt.Sub(r.cfg.Clock.Now()); left > 0 && n.failedSpec == r.service.SpecDigest {
		r.result.Sync, r.result.Reason, r.result.Message, r.result.Partly, r.result.Again = SyncFailed, ReasonHook, n.why, true, left
		r.result.Problems = append(r.result.Problems, Problem{Source: "apply", Message: n.why})
		return true
	}
	for ref, e := range n.entries {
		if e.hook.end == hookFailed && e.hook.moment != momentFail {
			e.hook.key, e.hook.end, e.hook.until = 0, hookOpen, time.Time{}
			n.entries[ref] = e
		}
	}
	n.phase, n.why, n.retryAt = PhaseApplying, "", time.Time{}
	r.dirty = true
	return false
}

// mayEnter reports whether group n may be applied: hooks of everything before it have
// ended, and at the end of a phase, what the phase created is healthy. n is
// len(groups) at the end of the pass. If it may not, the pass's result says why.
func (r *run) mayEnter(ctx context.Context, groups [][]*item, n int) (bool, error) {
	if r.hookEnds() {
		if err := r.save(ctx); err != nil {
			return false, err
		}
	}
	if err := r.sweep(ctx); err != nil {
		return false, err
	}
	var open []string
	for _, group := range groups[:n] {
		for _, it := range group {
			e := r.next.entries[it.ref]
			switch {
			case !it.hook.runs || e.hook.key == 0:
			case e.hook.end == hookFailed:
				return false, r.hookFault(ctx, it.ref)
			case e.hook.end == hookOpen:
				open = append(open, fmt.Sprintf("%s hook %s runs, until %s at the latest", momentNames[e.hook.moment], it.ref, e.hook.until.UTC().Format(time.RFC3339)))
			}
		}
	}
	r.result.Partly = n < len(groups)
	if len(open) > 0 {
		return false, r.waitHooks(ctx, open)
	}
	if n == len(groups) || !r.phaseEnds(groups, n) {
		return true, nil
	}
	if sick := r.unhealthy(groups[n-1][0].order.Stage); len(sick) > 0 {
		return false, r.wait(ctx, "waiting before the next phase: ", sick)
	}
	return true, nil
}

// phaseEnds reports whether a phase that must be healthy ends before group n: the
// next phase has something to do.
func (r *run) phaseEnds(groups [][]*item, n int) bool {
	if n == 0 {
		return false
	}
	stage := groups[n][0].order.Stage
	if stage < stageMain || groups[n-1][0].order.Stage == stage || stage == stageMain && groups[n-1][0].order.Stage < stageBefore {
		return false
	}
	for _, group := range groups[n:] {
		for _, it := range group {
			if it.order.Stage == stage && !r.settled(it) {
				return true
			}
		}
	}
	return false
}

// settled reports whether an item needs nothing in this pass.
func (r *run) settled(it *item) bool {
	e := r.next.entries[it.ref]
	if it.hook.runs {
		return e.hook.key == runKey(it, r.next.goal) && e.hook.end == hookSucceeded
	}
	return r.unchanged(it, e)
}

// waitHooks ends a pass until a hook ends.
func (r *run) waitHooks(ctx context.Context, open []string) error {
	if r.next.phase != PhaseWaiting {
		r.next.phase, r.dirty = PhaseWaiting, true
	}
	r.result.Sync, r.result.Again, r.result.Message = SyncApplying, againWaiting, open[0]
	if len(open) > 1 {
		r.result.Message += fmt.Sprintf(" (and %d more)", len(open)-1)
	}
	return r.saveIfDirty(ctx)
}

// hookFault ends a pass because a hook failed. The SyncFail hooks follow, and a retry
// after some minutes.
func (r *run) hookFault(ctx context.Context, ref kubeobj.Ref) error {
	n := r.next
	why := r.hookWhy[ref]
	if why == "" {
		why = "it failed"
	}
	n.why = r.service.Scrub.String(fmt.Sprintf("hook %s: %s", ref, why))
	limit := retryMax
	if n.attempt < 4 {
		limit = retryMin << n.attempt
	}
	n.attempt++
	wait := retryMin + jitter.Full(limit-retryMin)
	n.phase, n.retryAt, n.failedSpec = PhaseFailed, r.cfg.Clock.Now().Add(wait), r.service.SpecDigest
	r.dirty = true
	r.result.Sync, r.result.Reason, r.result.Message, r.result.Partly, r.result.Again = SyncFailed, ReasonHook, n.why, true, wait
	r.result.Problems = append(r.result.Problems, Problem{Source: "apply", Ref: ref, Message: n.why})
	return r.syncFailed(ctx)
}

// syncFailed starts the hooks that follow a failed sync, once per revision.
func (r *run) syncFailed(ctx context.Context) error {
	if len(r.plan.fail) == 0 {
		return r.saveIfDirty(ctx)
	}
	if r.hookEnds() {
		r.dirty = true
	}
	for n, group := range groupsOf(r.plan.fail) {
		if n > 0 && r.openHooks(r.plan.fail) {
			break
		}
		if _, err := r.applyGroup(ctx, group); err != nil {
			return err
		}
	}
	if err := r.saveIfDirty(ctx); err != nil {
		return err
	}
	return r.sweep(ctx)
}

func (r *run) openHooks(items []*item) bool {
	for _, it := range items {
		if e := r.next.entries[it.ref]; e.hook.key != 0 && e.hook.end == hookOpen {
			return true
		}
	}
	return false
}

// overtime reports whether this step has used its time.
func (r *run) overtime() bool { return time.Since(r.began) >= r.cfg.Step }

// pause ends a step of a pass that has more to write.
func (r *run) pause(ctx context.Context) error {
	r.next.phase = PhaseApplying
	r.result.Sync, r.result.Partly, r.result.Again = SyncApplying, true, time.Millisecond
	r.result.Message = fmt.Sprintf("%d of %d objects are applied", r.result.Applied+r.result.Unchanged, len(r.plan.items))
	return r.save(ctx)
}
