package apply

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/axle-cd/axle/internal/kubeobj"
)

// ran reports whether a hook needs no new run for the revision.
func (r *run) ran(it *item) bool {
	return r.next.entries[it.ref].hook.key == runKey(it, r.next.goal)
}

// runName is the name of the run in the annotation of the hook's object.
func (r *run) runName(it *item) string {
	return fmt.Sprintf("%016x-%d", runKey(it, r.next.goal), r.next.attempt)
}

// started records a run that has begun.
func (r *run) started(it *item, e entry) entry {
	e.fresh = false
	e.hook = hookRun{moment: it.hook.moment, runs: true, policy: it.hook.policy, key: runKey(it, r.next.goal),
		until: r.cfg.Clock.Now().Add(it.hook.limit)}
	return e
}

// hookEnds checks which runs have ended and reports whether one has.
func (r *run) hookEnds() bool {
	ended := false
	for _, list := range [][]*item{r.plan.items, r.plan.fail} {
		for _, it := range list {
			if e := r.next.entries[it.ref]; it.hook.runs && e.hook.key != 0 && e.hook.end == hookOpen && r.hookSeen(e) {
				ended = true
			}
		}
	}
	return ended
}

// hookSeen records the end of one run, if it has ended.
func (r *run) hookSeen(e entry) bool {
	end, why := r.hookState(e)
	if end == hookOpen {
		return false
	}
	if r.hookWhy == nil {
		r.hookWhy = map[kubeobj.Ref]string{}
	}
	r.hookWhy[e.ref] = why
	e.hook.end = end
	r.next.entries[e.ref] = e
	r.dirty = true
	return true
}

// hookState is the state of a run, from the watches.
func (r *run) hookState(e entry) (hookEnd, string) {
	if _, none := r.cfg.Live.(blind); none {
		return hookSucceeded, ""
	}
	live, found, synced := r.cfg.Live.Lookup(e.kind, e.ref)
	late := !r.cfg.Clock.Now().Before(e.hook.until)
	switch {
	case !judged(e.kind) && (!found && synced || live.Health == ""):
		return hookSucceeded, ""
	case synced && found && live.UID == e.uid && live.Health == "Healthy":
		return hookSucceeded, ""
	case synced && found && live.UID == e.uid && live.Health == "Degraded":
		return hookFailed, live.Message
	case synced && !found && r.vanishes(e.ref):
		r.result.Problems = append(r.result.Problems, Problem{Source: "apply", Ref: e.ref, Warning: true,
			Message: fmt.Sprintf("hook %s was removed after its end (ttlSecondsAfterFinished) before the agent saw it; it counts as a success", e.ref)})
		return hookSucceeded, ""
	case synced && !found && e.uid != "":
		return hookFailed, "it was deleted while it ran"
	case late && !synced:
		return hookFailed, "it cannot be watched, and its time is over"
	case late:
		return hookFailed, fmt.Sprintf("it has not ended in time: %s", live.Message)
	}
	return hookOpen, ""
}

// vanishes reports whether a hook's object is removed by Kubernetes once it
// has ended.
func (r *run) vanishes(ref kubeobj.Ref) bool {
	if r.plan == nil || r.plan.byRef[ref] == nil {
		return true // it belongs to an earlier revision; nothing waits for it
	}
	var object struct {
		Spec struct {
			TTL *int64 `json:"ttlSecondsAfterFinished"`
		} `json:"spec"`
	}
	return json.Unmarshal(r.plan.byRef[ref].body, &object) == nil && object.Spec.TTL != nil
}

// sweep deletes the objects of ended hooks according to their policy. Their end has
// been stored before.
func (r *run) sweep(ctx context.Context) error {
	for _, e := range r.next.entries {
		done := e.hook.end == hookSucceeded && e.hook.policy&deleteSucceeded != 0 || e.hook.end == hookFailed && e.hook.policy&deleteFailed != 0
		if !e.hook.runs || !done || e.uid == "" || keptKinds[e.kind.GroupKind()] {
			continue
		}
		if _, err := dispose(ctx, r.client, r.service.ID, e, kubeobj.Live{}, false, false); err != nil {
			if away(err) {
				return unavailable(err)
			}
			r.result.Problems = append(r.result.Problems, Problem{Source: "apply", Ref: e.ref, Warning: true, Message: explain("delete", e.ref, err)})
			continue
		}
		e.uid = ""
		r.next.entries[e.ref] = e
		r.dirty = true
	}
	return nil
}
