package apply

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// maxDrainHooks bounds the hooks of a drain in an inventory, in bytes.
const maxDrainHooks = 128 << 10

// keepDrainHooks stores the hooks of a drain: when the service leaves, there is nothing
// left to render them from.
func (r *run) keepDrainHooks() {
	var all []wireItem
	size := 0
	for _, it := range r.plan.drainHooks {
		if size += len(it.body); size > maxDrainHooks {
			r.result.Problems = append(r.result.Problems, Problem{Source: "apply", Ref: it.ref, Warning: true,
				Message: fmt.Sprintf("the hooks of a deletion are larger than %d KiB together; %s and those after it will not run", maxDrainHooks>>10, it.ref)})
			break
		}
		all = append(all, it.wire())
	}
	if !sameDrainHooks(all, r.next.drainHooks) {
		r.next.drainHooks, r.dirty = all, true
	}
}

// sameDrainHooks reports whether the stored hooks equal the rendered ones.
func sameDrainHooks(a, b []wireItem) bool {
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
func (d *drain) runDrainHooks(ctx context.Context, when moment) (done bool, err error) {
	r := &run{Engine: d.Engine, service: d.service, state: d.state, client: d.client, before: d.next, next: d.next,
		plan: &plan{byRef: map[kubeobj.Ref]*item{}}, began: time.Now(),
		writer: &writer{shared: d.written, client: d.client, service: d.service, newKinds: map[string]bool{}}}
	fresh := false
	for _, w := range d.next.drainHooks {
		if w.Moment != when {
			continue
		}
		it := w.item()
		// It may have been planned under an earlier permit.
		if refused := d.permit.MayWrite(it.kind, it.ref); refused != nil {
			d.result.Problems = append(d.result.Problems, Problem{Source: "prune", Ref: it.ref,
				Message: fmt.Sprintf("%s hook %s may not run: %s; nothing is deleted before it has run; to skip it, detach the service instead", momentNames[when], it.ref, errcode.Message(refused))})
			return false, nil
		}
		r.plan.items, r.plan.byRef[it.ref] = append(r.plan.items, it), it
		if _, claimed := d.next.entries[it.ref]; !claimed {
			d.next.entries[it.ref] = entry{kind: it.kind, ref: it.ref, order: it.order, once: true, prune: it.prune, hook: hookRun{moment: when, runs: true}}
			fresh = true
		}
	}
	if len(r.plan.items) == 0 {
		return true, nil
	}
	if d.next.goal != drainGoal {
		d.next.goal, d.next.attempt, d.next.retryAt = drainGoal, 0, time.Time{}
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
		d.next.drainHooks = slices.DeleteFunc(slices.Clone(d.next.drainHooks), func(w wireItem) bool { return w.Moment == when })
	}
	return done, err
}

// drainGoal is the revision name for hooks that run on a drain.
const drainGoal = "leave"

func (d *drain) runHookWaves(ctx context.Context, r *run) (bool, error) {
	groups := r.plan.groups()
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
func (d *drain) hookHolds(r *run, it *item) bool {
	e, now := d.next.entries[it.ref], d.cfg.Clock.Now()
	switch {
	case e.hook.end == hookSucceeded:
		return false
	case e.hook.end == hookOpen:
		d.result.Message = fmt.Sprintf("%s hook %s runs, until %s at the latest", momentNames[e.hook.moment], it.ref, e.hook.until.UTC().Format(time.RFC3339))
		return true
	case d.next.retryAt.IsZero():
		d.next.why = fmt.Sprintf("%s hook %s failed: %s", momentNames[e.hook.moment], it.ref, cmp.Or(r.hookWhy[it.ref], "it failed"))
		d.next.attempt++
		d.next.retryAt = now.Add(retryMin + jitter.Full(retryMax-retryMin))
	case !now.Before(d.next.retryAt):
		e.hook.key, e.hook.end = 0, hookOpen
		d.next.entries[it.ref], d.next.retryAt = e, time.Time{}
	}
	d.result.Problems = append(d.result.Problems, Problem{Source: "prune", Ref: it.ref,
		Message: d.next.why + "; nothing is deleted until it succeeds; it is retried; to skip it, detach the service instead"})
	return true
}
