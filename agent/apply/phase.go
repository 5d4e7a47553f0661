package apply

import (
	"context"
	"fmt"
	"time"

	"github.com/axle-cd/axle/agent/apply/wave"
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
	n, goal := r.next, r.service.Goal()
	if n.Goal == goal {
		return ""
	}
	for _, e := range n.Entries {
		if !e.Hook.Runs || e.Hook.Key == 0 || e.Hook.End != wave.HookOpen || e.Hook.Moment == wave.MomentFail {
			continue
		}
		if r.hookSeen(e); r.next.Entries[e.Ref].Hook.End == wave.HookOpen {
			return fmt.Sprintf("hook %s of an earlier revision has not ended", e.Ref)
		}
	}
	n.Goal, n.Reached, n.Attempt, n.Why = goal, wave.Order{}, 0, ""
	n.SyncRequest = max(n.SyncRequest, r.service.SyncRequest)
	n.RetryAt, n.WaitUntil = time.Time{}, time.Time{}
	n.Phase = PhaseApplying
	return ""
}

// yield ends a pass that may not begin yet.
func (r *run) yield(ctx context.Context, busy string) error {
	r.next.Phase = PhaseWaiting
	r.result.Sync, r.result.Message, r.result.Partly, r.result.Again = SyncApplying, "waiting: "+busy, true, againWaiting
	return r.saveIfDirty(ctx)
}

// resting reports whether the next try after a failed hook is still to come. If it is
// due, resting prepares it. A change of settings makes it due at once.
func (r *run) resting() bool {
	n := r.next
	if n.Phase != PhaseFailed || n.Why == "" {
		return false
	}
	if left := n.RetryAt.Sub(r.cfg.Clock.Now()); left > 0 && n.FailedSpec == r.service.SpecDigest {
		r.result.Sync, r.result.Reason, r.result.Message, r.result.Partly, r.result.Again = SyncFailed, ReasonHook, n.Why, true, left
		r.result.Problems = append(r.result.Problems, Problem{Source: "apply", Message: n.Why})
		return true
	}
	for ref, e := range n.Entries {
		if e.Hook.End == wave.HookFailed && e.Hook.Moment != wave.MomentFail {
			e.Hook.Key, e.Hook.End, e.Hook.Until = 0, wave.HookOpen, time.Time{}
			n.Entries[ref] = e
		}
	}
	n.Phase, n.Why, n.RetryAt = PhaseApplying, "", time.Time{}
	r.dirty = true
	return false
}

// mayEnter reports whether group n may be applied: hooks of everything before it have
// ended, and at the end of a phase, what the phase created is healthy. n is
// len(groups) at the end of the pass. If it may not, the pass's result says why.
func (r *run) mayEnter(ctx context.Context, groups [][]*wave.Item, n int) (bool, error) {
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
			e := r.next.Entries[it.Ref]
			switch {
			case !it.Hook.Runs || e.Hook.Key == 0:
			case e.Hook.End == wave.HookFailed:
				return false, r.hookFault(ctx, it.Ref)
			case e.Hook.End == wave.HookOpen:
				open = append(open, fmt.Sprintf("%s hook %s runs, until %s at the latest", wave.MomentNames[e.Hook.Moment], it.Ref, e.Hook.Until.UTC().Format(time.RFC3339)))
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
	if sick := r.unhealthy(groups[n-1][0].Order.Stage); len(sick) > 0 {
		return false, r.wait(ctx, "waiting before the next phase: ", sick)
	}
	return true, nil
}

// phaseEnds reports whether a phase that must be healthy ends before group n: the
// next phase has something to do.
func (r *run) phaseEnds(groups [][]*wave.Item, n int) bool {
	if n == 0 {
		return false
	}
	stage := groups[n][0].Order.Stage
	if stage < wave.StageMain || groups[n-1][0].Order.Stage == stage || stage == wave.StageMain && groups[n-1][0].Order.Stage < wave.StageBefore {
		return false
	}
	for _, group := range groups[n:] {
		for _, it := range group {
			if it.Order.Stage == stage && !r.settled(it) {
				return true
			}
		}
	}
	return false
}

// settled reports whether an item needs nothing in this pass.
func (r *run) settled(it *wave.Item) bool {
	e := r.next.Entries[it.Ref]
	if it.Hook.Runs {
		return e.Hook.Key == wave.RunKey(it, r.next.Goal) && e.Hook.End == wave.HookSucceeded
	}
	return r.unchanged(it, e)
}

// waitHooks ends a pass until a hook ends.
func (r *run) waitHooks(ctx context.Context, open []string) error {
	if r.next.Phase != PhaseWaiting {
		r.next.Phase, r.dirty = PhaseWaiting, true
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
	n.Why = r.service.Scrub.String(fmt.Sprintf("hook %s: %s", ref, why))
	limit := retryMax
	if n.Attempt < 4 {
		limit = retryMin << n.Attempt
	}
	n.Attempt++
	wait := retryMin + jitter.Full(limit-retryMin)
	n.Phase, n.RetryAt, n.FailedSpec = PhaseFailed, r.cfg.Clock.Now().Add(wait), r.service.SpecDigest
	r.dirty = true
	r.result.Sync, r.result.Reason, r.result.Message, r.result.Partly, r.result.Again = SyncFailed, ReasonHook, n.Why, true, wait
	r.result.Problems = append(r.result.Problems, Problem{Source: "apply", Ref: ref, Message: n.Why})
	return r.syncFailed(ctx)
}

// syncFailed starts the hooks that follow a failed sync, once per revision.
func (r *run) syncFailed(ctx context.Context) error {
	if len(r.plan.Fail) == 0 {
		return r.saveIfDirty(ctx)
	}
	if r.hookEnds() {
		r.dirty = true
	}
	for n, group := range wave.Groups(r.plan.Fail) {
		if n > 0 && r.openHooks(r.plan.Fail) {
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

func (r *run) openHooks(items []*wave.Item) bool {
	for _, it := range items {
		if e := r.next.Entries[it.Ref]; e.Hook.Key != 0 && e.Hook.End == wave.HookOpen {
			return true
		}
	}
	return false
}

// overtime reports whether this step has used its time.
func (r *run) overtime() bool { return time.Since(r.began) >= r.cfg.Step }

// pause ends a step of a pass that has more to write.
func (r *run) pause(ctx context.Context) error {
	r.next.Phase = PhaseApplying
	r.result.Sync, r.result.Partly, r.result.Again = SyncApplying, true, time.Millisecond
	r.result.Message = fmt.Sprintf("%d of %d objects are applied", r.result.Applied+r.result.Unchanged, len(r.plan.Items))
	return r.save(ctx)
}
