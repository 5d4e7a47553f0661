package apply

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/axle-cd/axle/agent/apply/inventory"
	"github.com/axle-cd/axle/agent/apply/prune"
	"github.com/axle-cd/axle/agent/apply/wave"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// settle decides, after everything possible was written, whether the rest of the pass
// may follow: waiting for health, pruning, and recording the revision as applied.
func (r *run) settle(ctx context.Context) error {
	leaving, staying := r.leaving()
	if !r.failed() {
		stay(ctx, r, staying)
	}
	switch {
	case r.failed():
		r.next.Phase = PhaseApplying
		r.result.Partly = true
		r.result.Sync = SyncFailed
		r.result.Message = firstProblem(r.result.Problems)
		r.result.Again = jitter.Around(againRefused, againRefused/4)
		if r.soon {
			r.result.Again = jitter.Around(againSoon, againSoon/4)
			return r.saveIfDirty(ctx)
		}
		return r.syncFailed(ctx)
	case len(leaving) == 0:
		return r.applied(ctx)
	case r.service.Partial != "":
		return r.partial(ctx, len(leaving))
	}
	if parts := r.service.LeftOut; len(parts) > 0 && objectsOf(leaving) > 0 && !r.next.Released(inventory.HeldForParts, r.service.PruneApproval) {
		return r.hold(ctx, leaving, ReasonLeftOut, partsWords(len(leaving), parts))
	}
	if held := r.pruneLimit(leaving); held != "" {
		return r.hold(ctx, leaving, ReasonPruneHeld, held+": nothing is deleted until it is released with `axle services approve-prune`")
	}
	if sick := r.unhealthy(wave.StageAfter); len(sick) > 0 {
		return r.wait(ctx, "waiting before the prune: ", sick)
	}
	return r.pruneAll(ctx, leaving)
}

// objectsOf counts the leaving objects, without the runs of hooks.
func objectsOf(leaving []inventory.Entry) int {
	count := 0
	for _, e := range leaving {
		if !e.Hook.Runs {
			count++
		}
	}
	return count
}

// partsWords says why a prune is held for a service that was only partly rendered.
func partsWords(count int, parts []string) string {
	text := fmt.Sprintf("%d objects that are no longer rendered stay, because a part of the service was left out: %s", count, parts[0])
	if more := len(parts) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text + "; they are deleted when the part is rendered or removed, or at once with `axle services approve-prune`"
}

// leaving returns what is no longer rendered: what leaves the service, and what stays.
func (r *run) leaving() (leaving, staying []inventory.Entry) {
	return prune.Leaving(r.next, r.service.PruneOff, func(ref kubeobj.Ref) bool {
		heir, cannot := r.owners.Claims.Heir(r.service.ID, ref)
		return heir != "" && cannot == ""
	})
}

// applied records that the whole revision is in the cluster.
func (r *run) applied(ctx context.Context) error {
	n := r.next
	if n.Phase != PhaseApplied || n.TarballDigest != r.service.TarballDigest || n.Settings != r.service.Settings ||
		n.SpecDigest != r.service.SpecDigest && !r.onlyAsked() || n.Approval < r.service.PruneApproval || n.Held != 0 {
		r.dirty = true
	}
	n.Phase, n.TarballDigest, n.SpecDigest, n.Settings = PhaseApplied, r.service.TarballDigest, r.service.SpecDigest, r.service.Settings
	n.Seen = r.service.Seen
	n.SyncRequest = max(n.SyncRequest, r.service.SyncRequest)
	n.Approval, n.Held, n.WaitUntil, n.Attempt, n.Why = max(n.Approval, r.service.PruneApproval), 0, time.Time{}, 0, ""
	n.HeldFor, n.HeldApproval = "", 0
	r.owners.Claims.Waited(r.service.ID, 0, time.Time{})
	r.calm()
	r.result.Sync = SyncSynced
	if r.service.Partial != "" {
		// The pass must not look finished once the cause is gone.
		r.result.Again = jitter.Around(againPartial, againPartial/4)
	}
	return r.saveIfDirty(ctx)
}

// recordWritten records that all that the revision renders is in the cluster, although something
// that it does not render is still there: only its prune waits.
func (r *run) recordWritten() {
	n := r.next
	if n.TarballDigest != r.service.TarballDigest || n.SpecDigest != r.service.SpecDigest || n.Settings != r.service.Settings {
		r.dirty = true
	}
	n.TarballDigest, n.SpecDigest, n.Settings, n.Seen = r.service.TarballDigest, r.service.SpecDigest, r.service.Settings, r.service.Seen
}

// onlyAsked reports whether only people's requests are new. These need not survive a
// restart, unless windows depend on them.
func (r *run) onlyAsked() bool {
	return r.next.AsSettled(r.service.Settings) && (len(r.service.Windows) == 0 || r.next.StoredSync >= r.service.SyncRequest)
}

// calm forgets which objects this pass wrote. That alone is no reason to store the
// inventory.
func (r *run) calm() {
	for ref, e := range r.next.Entries {
		if e.Fresh {
			e.Fresh = false
			r.next.Entries[ref] = e
		}
	}
}

func (r *run) partial(ctx context.Context, count int) error {
	r.recordWritten()
	r.next.Phase = PhaseWaiting
	r.result.Sync = SyncSynced
	r.result.Held = count
	text := fmt.Sprintf("%d objects that are no longer rendered stay: %s", count, r.service.Partial)
	r.result.Problems = append(r.result.Problems, Problem{Source: "prune", Warning: true, Message: text})
	r.result.Message = text
	r.result.Again = jitter.Around(againPartial, againPartial/4)
	return r.saveIfDirty(ctx)
}

// The prune limit holds a prune of more than pruneLimitCount objects that are more than
// pruneLimitShare of all.
const (
	pruneLimitCount = 5
	pruneLimitShare = 0.3
)

// pruneLimit returns why a prune needs a person's approval, empty if it does not.
func (r *run) pruneLimit(leaving []inventory.Entry) string {
	count := 0
	for _, e := range leaving {
		if prune.Prunable(r.next, e) {
			count++
		}
	}
	switch {
	case count == 0 || r.service.PruneApproval > r.next.Approval:
		return ""
	case len(r.plan.Items) == 0:
		return fmt.Sprintf("nothing is rendered now, which would delete all %d objects", count)
	case count > pruneLimitCount && float64(count) > pruneLimitShare*float64(len(r.next.Entries)):
		return fmt.Sprintf("%d of %d objects are no longer rendered", count, len(r.next.Entries))
	}
	return prune.Confirmation(r.next, leaving, r.owners.Claims.HeirsOf(r.service.ID))
}

func (r *run) hold(ctx context.Context, leaving []inventory.Entry, reason, why string) error {
	r.recordWritten()
	if r.next.Phase != PhasePruneHeld || r.next.Held != len(leaving) || r.next.HeldFor != r.before.HeldFor {
		r.next.Phase, r.next.Held = PhasePruneHeld, len(leaving)
		r.dirty = true
	}
	r.result.Sync, r.result.Reason, r.result.Held = SyncHeld, reason, len(leaving)
	r.result.Message = why
	r.result.Problems = append(r.result.Problems, Problem{Source: "prune", Message: r.result.Message})
	return r.saveIfDirty(ctx)
}

var claimKind = schema.GroupKind{Kind: "PersistentVolumeClaim"}

// unhealthy lists written objects up to a stage that are not healthy yet. Hooks are
// not included: they end, or fail.
func (r *run) unhealthy(stage int) []string {
	if r.cfg.HealthWait < 0 {
		return nil
	}
	if _, none := r.cfg.Live.(blind); none {
		return nil
	}
	var sick []string
	for _, e := range r.next.Sorted() {
		if e.Leaving || !e.Fresh || e.Hook.Runs || e.Order.Stage > stage {
			continue
		}
		live, found, synced := r.cfg.Live.Lookup(e.Kind, e.Ref)
		switch {
		case !synced:
			sick = append(sick, e.Ref.String()+" cannot be watched")
		case !found && !e.Once:
			sick = append(sick, e.Ref.String()+" is missing")
		case found && live.Health == "Progressing" && e.Kind.GroupKind() == claimKind:
			// Its class may wait for a pod that uses it, which is waited for by itself.
		case found && live.Health != "" && live.Health != "Healthy" && live.Health != "Suspended":
			sick = append(sick, strings.TrimSuffix(fmt.Sprintf("%s is %s: %s", e.Ref, live.Health, live.Message), ": "))
		}
	}
	return sick
}

// wait keeps what is left over until the written objects are healthy, and gives up
// after HealthWait.
func (r *run) wait(ctx context.Context, before string, sick []string) error {
	now := r.cfg.Clock.Now()
	if r.next.Phase != PhaseWaiting && r.next.Phase != PhaseFailed || r.changed {
		r.next.Phase, r.next.WaitUntil = PhaseWaiting, now.Add(r.cfg.HealthWait)
		r.dirty = true
	}
	r.result.Sync, r.result.Again = SyncApplying, againWaiting
	r.result.Message = before + sick[0]
	if len(sick) > 1 {
		r.result.Message += fmt.Sprintf(" (and %d more)", len(sick)-1)
	}
	if !now.Before(r.next.WaitUntil) {
		if r.next.Phase != PhaseFailed {
			r.next.Phase, r.dirty = PhaseFailed, true
		}
		r.result.Sync, r.result.Reason, r.result.Again = SyncFailed, ReasonHealth, retryMin+jitter.Full(retryMax-retryMin)
		r.result.Message = fmt.Sprintf("not healthy within %v, so nothing further is done: %s", r.cfg.HealthWait, sick[0])
		r.result.Problems = append(r.result.Problems, Problem{Source: "health", Message: r.result.Message})
		return r.syncFailed(ctx)
	}
	return r.saveIfDirty(ctx)
}

func (r *run) saveIfDirty(ctx context.Context) error {
	if !r.dirty {
		r.owners.Commit(r.state, r.next.Clone()) // the pass may go on with its own
		return nil
	}
	return r.save(ctx)
}

func firstProblem(all []Problem) string {
	first, more := "", -1
	for _, p := range all {
		if p.Warning {
			continue
		}
		if more++; first == "" {
			first = p.Message
		}
	}
	if more > 0 {
		first += fmt.Sprintf(" (and %d more)", more)
	}
	return first
}
