package apply

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/axle-cd/axle/agent/apply/inventory"
	"github.com/axle-cd/axle/agent/apply/kubeclient"
	"github.com/axle-cd/axle/agent/apply/prune"
	"github.com/axle-cd/axle/agent/apply/wave"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// ran reports whether a hook needs no new run for the revision.
func (r *run) ran(it *wave.Item) bool {
	return r.next.Entries[it.Ref].Hook.Key == wave.RunKey(it, r.next.Goal)
}

// runName is the name of the run in the annotation of the hook's object.
func (r *run) runName(it *wave.Item) string {
	return fmt.Sprintf("%016x-%d", wave.RunKey(it, r.next.Goal), r.next.Attempt)
}

// started records a run that has begun.
func (r *run) started(it *wave.Item, e inventory.Entry) inventory.Entry {
	e.Fresh = false
	e.Hook = inventory.HookRun{Moment: it.Hook.Moment, Runs: true, Policy: it.Hook.Policy, Key: wave.RunKey(it, r.next.Goal),
		Until: r.cfg.Clock.Now().Add(it.Hook.Limit)}
	return e
}

// hookEnds checks which runs have ended and reports whether one has.
func (r *run) hookEnds() bool {
	ended := false
	for _, list := range [][]*wave.Item{r.plan.Items, r.plan.Fail} {
		for _, it := range list {
			if e := r.next.Entries[it.Ref]; it.Hook.Runs && e.Hook.Key != 0 && e.Hook.End == wave.HookOpen && r.hookSeen(e) {
				ended = true
			}
		}
	}
	return ended
}

// hookSeen records the end of one run, if it has ended.
func (r *run) hookSeen(e inventory.Entry) bool {
	end, why := r.hookState(e)
	if end == wave.HookOpen {
		return false
	}
	if r.hookWhy == nil {
		r.hookWhy = map[kubeobj.Ref]string{}
	}
	r.hookWhy[e.Ref] = why
	e.Hook.End = end
	r.next.Entries[e.Ref] = e
	r.dirty = true
	return true
}

// hookState is the state of a run, from the watches.
func (r *run) hookState(e inventory.Entry) (wave.HookEnd, string) {
	if _, none := r.cfg.Live.(blind); none {
		return wave.HookSucceeded, ""
	}
	live, found, synced := r.cfg.Live.Lookup(e.Kind, e.Ref)
	late := !r.cfg.Clock.Now().Before(e.Hook.Until)
	switch {
	case !wave.Judged(e.Kind) && (!found && synced || live.Health == ""):
		return wave.HookSucceeded, ""
	case synced && found && live.UID == e.UID && live.Health == "Healthy":
		return wave.HookSucceeded, ""
	case synced && found && live.UID == e.UID && live.Health == "Degraded":
		return wave.HookFailed, live.Message
	case synced && !found && r.vanishes(e.Ref):
		r.result.Problems = append(r.result.Problems, Problem{Source: "apply", Ref: e.Ref, Warning: true,
			Message: fmt.Sprintf("hook %s was removed after its end (ttlSecondsAfterFinished) before the agent saw it; it counts as a success", e.Ref)})
		return wave.HookSucceeded, ""
	case synced && !found && e.UID != "":
		return wave.HookFailed, "it was deleted while it ran"
	case late && !synced:
		return wave.HookFailed, "it cannot be watched, and its time is over"
	case late:
		return wave.HookFailed, fmt.Sprintf("it has not ended in time: %s", live.Message)
	}
	return wave.HookOpen, ""
}

// vanishes reports whether a hook's object is removed by Kubernetes once it
// has ended.
func (r *run) vanishes(ref kubeobj.Ref) bool {
	if r.plan == nil || r.plan.ByRef[ref] == nil {
		return true // it belongs to an earlier revision; nothing waits for it
	}
	var object struct {
		Spec struct {
			TTL *int64 `json:"ttlSecondsAfterFinished"`
		} `json:"spec"`
	}
	return json.Unmarshal(r.plan.ByRef[ref].Body, &object) == nil && object.Spec.TTL != nil
}

// sweep deletes the objects of ended hooks according to their policy. Their end has
// been stored before.
func (r *run) sweep(ctx context.Context) error {
	for _, e := range r.next.Entries {
		done := e.Hook.End == wave.HookSucceeded && e.Hook.Policy&wave.DeleteSucceeded != 0 || e.Hook.End == wave.HookFailed && e.Hook.Policy&wave.DeleteFailed != 0
		if !e.Hook.Runs || !done || e.UID == "" || wave.KeptKinds[e.Kind.GroupKind()] {
			continue
		}
		if _, err := prune.Dispose(ctx, r.client, r.service.ID, e, kubeobj.Live{}, false, false); err != nil {
			if kubeclient.Away(err) {
				return kubeclient.Unavailable(err)
			}
			r.result.Problems = append(r.result.Problems, Problem{Source: "apply", Ref: e.Ref, Warning: true, Message: kubeclient.Explain("delete", e.Ref, err)})
			continue
		}
		e.UID = ""
		r.next.Entries[e.Ref] = e
		r.dirty = true
	}
	return nil
}
