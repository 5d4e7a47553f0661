package apply

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/axle-cd/axle/agent/apply/inventory"
	"github.com/axle-cd/axle/agent/apply/plan"
	"github.com/axle-cd/axle/agent/apply/wave"
	"github.com/axle-cd/axle/agent/apply/write"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// maxDrainHooks bounds the hooks of a drain in an inventory, in bytes.
const maxDrainHooks = 128 << 10

// keepDrainHooks stores the hooks of a drain: when the service leaves, there is nothing
// left to render them from.
func (r *run) keepDrainHooks() {
	var all []wave.Packed
	size := 0
	for _, it := range r.plan.DrainHooks {
		if size += len(it.Body); size > maxDrainHooks {
			r.result.Problems = append(r.result.Problems, Problem{Source: "apply", Ref: it.Ref, Warning: true,
				Message: fmt.Sprintf("the hooks of a deletion are larger than %d KiB together; %s and those after it will not run", maxDrainHooks>>10, it.Ref)})
			break
		}
		all = append(all, it.Pack())
	}
	if !sameDrainHooks(all, r.next.DrainHooks) {
		r.next.DrainHooks, r.dirty = all, true
	}
}

// sameDrainHooks reports whether the stored hooks equal the rendered ones.
func sameDrainHooks(a, b []wave.Packed) bool {
	if len(a) != len(b) || len(a) == 0 {
		return len(a) == len(b)
	}
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// runDrainHooks runs the hooks of one moment of a drain and reports whether all of them
// succeeded. A failed hook holds the drain and is retried after some minutes.
// Detaching the service avoids the hooks.
func (d *drain) runDrainHooks(ctx context.Context, when wave.Moment) (done bool, err error) {
	r := &run{Engine: d.Engine, service: d.service, state: d.state, client: d.client, before: d.next, next: d.next,
		plan: &plan.Plan{ByRef: map[kubeobj.Ref]*wave.Item{}}, began: time.Now(),
		writer: &write.Writer{Common: d.written, Client: d.client, Service: d.service, NewKinds: map[string]bool{}}}
	fresh := false
	for _, w := range d.next.DrainHooks {
		if w.Moment != when {
			continue
		}
		it := w.Item()
		// It may have been planned under an earlier permit.
		if refused := d.permit.MayWrite(it.Kind, it.Ref); refused != nil {
			d.result.Problems = append(d.result.Problems, Problem{Source: "prune", Ref: it.Ref,
				Message: fmt.Sprintf("%s hook %s may not run: %s; nothing is deleted before it has run; to skip it, detach the service instead", wave.MomentNames[when], it.Ref, errcode.Message(refused))})
			return false, nil
		}
		r.plan.Items, r.plan.ByRef[it.Ref] = append(r.plan.Items, it), it
		if _, claimed := d.next.Entries[it.Ref]; !claimed {
			d.next.Entries[it.Ref] = inventory.Entry{Kind: it.Kind, Ref: it.Ref, Order: it.Order, Once: true, Prune: it.Prune, Hook: inventory.HookRun{Moment: when, Runs: true}}
			fresh = true
		}
	}
	if len(r.plan.Items) == 0 {
		return true, nil
	}
	if d.next.Goal != drainGoal {
		d.next.Goal, d.next.Attempt, d.next.RetryAt = drainGoal, 0, time.Time{}
		fresh = true
	}
	if fresh {
		if err := d.save(ctx); err != nil {
			return false, err
		}
		d.watch()
	}
	if done, err = d.runHookWaves(ctx, r); done && err == nil {
		// They must not run again after their objects are gone.
		d.next.DrainHooks = slices.DeleteFunc(slices.Clone(d.next.DrainHooks), func(w wave.Packed) bool { return w.Moment == when })
	}
	return done, err
}

// drainGoal is the revision name for hooks that run on a drain.
const drainGoal = "leave"

func (d *drain) runHookWaves(ctx context.Context, r *run) (bool, error) {
	groups := r.plan.Groups()
	for n := 0; n <= len(groups); n++ {
		if r.hookEnds() {
			if err := d.save(ctx); err != nil {
				return false, err
			}
		}
		for _, group := range groups[:n] {
			for _, it := range group {
				if held := d.hookHolds(r, it); held {
					return false, nil
				}
			}
		}
		if n == len(groups) {
			break
		}
		failed, err := r.applyGroup(ctx, groups[n])
		if err == nil && r.dirty {
			err = d.save(ctx)
		}
		d.result.Problems = append(d.result.Problems, r.result.Problems...)
		r.result.Problems = nil
		if err != nil || failed > 0 {
			return false, err
		}
	}
	return true, nil
}

// hookHolds reports whether the drain waits for a hook, and sets the message.
func (d *drain) hookHolds(r *run, it *wave.Item) bool {
	e, now := d.next.Entries[it.Ref], d.cfg.Clock.Now()
	switch {
	case e.Hook.End == wave.HookSucceeded:
		return false
	case e.Hook.End == wave.HookOpen:
		d.result.Message = fmt.Sprintf("%s hook %s runs, until %s at the latest", wave.MomentNames[e.Hook.Moment], it.Ref, e.Hook.Until.UTC().Format(time.RFC3339))
		return true
	case d.next.RetryAt.IsZero():
		d.next.Why = fmt.Sprintf("%s hook %s failed: %s", wave.MomentNames[e.Hook.Moment], it.Ref, cmp.Or(r.hookWhy[it.Ref], "it failed"))
		d.next.Attempt++
		d.next.RetryAt = now.Add(retryMin + jitter.Full(retryMax-retryMin))
	case !now.Before(d.next.RetryAt):
		e.Hook.Key, e.Hook.End = 0, wave.HookOpen
		d.next.Entries[it.Ref], d.next.RetryAt = e, time.Time{}
	}
	d.result.Problems = append(d.result.Problems, Problem{Source: "prune", Ref: it.Ref,
		Message: d.next.Why + "; nothing is deleted until it succeeds; it is retried; to skip it, detach the service instead"})
	return true
}
