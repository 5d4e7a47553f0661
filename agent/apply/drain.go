package apply

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/axle-cd/axle/agent/apply/inventory"
	"github.com/axle-cd/axle/agent/apply/kubeclient"
	"github.com/axle-cd/axle/agent/apply/ownership"
	"github.com/axle-cd/axle/agent/apply/prune"
	"github.com/axle-cd/axle/agent/apply/wave"
	"github.com/axle-cd/axle/agent/apply/write"
	"github.com/axle-cd/axle/agent/tenancy"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// drainWait bounds how long one call waits for a wave to be gone before it returns.
const drainWait = 5 * time.Second

// DrainResult says how far a drain came. For a service without an inventory, Done is
// true at once.
type DrainResult struct {
	Done bool
	// Remaining counts objects that still wait (for a finalizer, a permission).
	Remaining int
	// Awaits: other services may take objects over, but have not been rendered yet.
	Awaits bool
	// Deleted counts objects that were gone during this call. Left counts those left
	// alone because they are no longer ours or are never deleted.
	Deleted, Left int
	// Message is one sentence for a person, scrubbed.
	Message  string
	Problems []Problem
}

// drain is the removal of one service.
type drain struct {
	*Engine
	service Service
	permit  tenancy.Permit
	state   *ownership.State
	client  *kubeclient.Client
	next    *inventory.Inventory
	result  DrainResult
}

// Drain deletes everything in the service's inventory in reverse order, with the
// guards of a prune, then the inventory. A wave is deleted once the wave after it is
// gone, so that operators outlive the objects that they must clean up. Call it again
// until Done.
func (e *Engine) Drain(ctx context.Context, permit tenancy.Permit, service Service) (DrainResult, error) {
	return e.leave(ctx, permit, service, (*drain).deleteAll)
}

// Detach removes our marks from everything in the service's inventory, leaves
// the objects, then deletes the inventory. Call it again until Done.
func (e *Engine) Detach(ctx context.Context, permit tenancy.Permit, service Service) (DrainResult, error) {
	return e.leave(ctx, permit, service, (*drain).unmarkAll)
}

func (e *Engine) leave(ctx context.Context, permit tenancy.Permit, service Service, how func(*drain, context.Context) error) (DrainResult, error) {
	t := e.begin(service)
	d := &drain{Engine: e, service: service, permit: permit, state: t}
	err := d.run(ctx, how)
	e.end(t)
	for n := range d.result.Problems {
		d.result.Problems[n].Message = service.Scrub.String(d.result.Problems[n].Message)
	}
	d.result.Message = service.Scrub.String(d.result.Message)
	if err != nil {
		return d.result, scrubbed(service, err)
	}
	if d.result.Done {
		e.owners.Forget(service.ID)
		e.kept.forget(service.ID)
		e.watch()
	}
	return d.result, nil
}

func (d *drain) run(ctx context.Context, how func(*drain, context.Context) error) error {
	known, stale, _ := d.owners.Known(d.state)
	var err error
	if stale || known == nil {
		if known, err = d.reload(ctx, d.state, d.service.ID); err != nil {
			return err
		}
	}
	if known == nil {
		d.result.Done = true
		return nil
	}
	if d.client, err = d.clientOf(d.permit, d.service); err != nil {
		return err
	}
	d.next = known.Clone()
	if d.next.Phase != PhaseDraining {
		d.next.Phase = PhaseDraining
		if err := d.save(ctx); err != nil {
			return err
		}
	}
	if err := how(d, ctx); err != nil {
		return err
	}
	if d.result.Remaining = len(d.next.Entries); d.result.Remaining > 0 {
		d.describe(ctx)
		return d.save(ctx)
	}
	if err := d.store.Remove(ctx, d.next); err != nil {
		return err
	}
	d.result.Done = true
	return nil
}

func (d *drain) describe(ctx context.Context) {
	if text := firstProblem(d.result.Problems); text != "" {
		d.result.Message = text
	}
	if d.result.Message != "" {
		return
	}
	for _, e := range d.reverse() {
		d.result.Message = fmt.Sprintf("%d objects remain; %s is being deleted%s", d.result.Remaining, e.Ref, prune.HeldBy(ctx, d.client, e))
		return
	}
}

func (d *drain) save(ctx context.Context) error {
	stored := d.next.Clone()
	err := d.store.Save(ctx, stored)
	if err != nil {
		if errcode.Is(err, errcode.Conflict) {
			d.owners.MarkStale(d.state, true)
		}
		return err
	}
	d.next.Version, d.next.Shards = stored.Version, stored.Shards
	d.owners.Commit(d.state, stored)
	return nil
}

// reverse returns the entries, last in order first.
func (d *drain) reverse() []inventory.Entry {
	all := d.next.Sorted()
	slices.SortStableFunc(all, func(a, b inventory.Entry) int {
		if b.Order.Before(a.Order) {
			return -1
		}
		if a.Order.Before(b.Order) {
			return 1
		}
		return 0
	})
	return all
}

func (d *drain) deleteAll(ctx context.Context) error {
	if d.othersFirst() {
		return nil
	}
	if done, err := d.runDrainHooks(ctx, wave.MomentLeaving); err != nil || !done {
		return err
	}
	gone, err := d.deleteWaves(ctx, slices.DeleteFunc(d.reverse(), func(e inventory.Entry) bool { return e.Hook.Moment == wave.MomentLeft }))
	if err != nil || !gone {
		return err
	}
	if done, err := d.runDrainHooks(ctx, wave.MomentLeft); err != nil || !done {
		return err
	}
	if gone, err = d.deleteWaves(ctx, d.reverse()); err != nil || !gone {
		return err
	}
	return d.deleteNamespace(ctx)
}

// othersFirst reports, with the message, whether the drain waits for others or a person.
func (d *drain) othersFirst() bool {
	if ask := prune.Confirmation(d.next, d.next.Sorted(), d.owners.Claims.HeirsOf(d.service.ID)); ask != "" && !d.service.Released {
		d.result.Message = "nothing is deleted yet, because " + ask + ": `axle services approve-prune` gives it, `axle services delete --detach` leaves the objects"
		return true
	}
	awaited := d.owners.Claims.Awaited(d.service, d.next.Sorted())
	since := d.owners.Claims.Waited(d.service.ID, len(awaited), d.cfg.Clock.Now())
	if len(awaited) == 0 || d.service.Released {
		return false
	}
	d.result.Awaits = true
	d.result.Message = "nothing is deleted yet, because objects may be taken over by " + awaitedWords(awaited)
	if since > othersQuiet {
		d.result.Message += ": it continues when they have been rendered, or at once with `axle services approve-prune`; `axle services delete --detach` leaves the objects"
	}
	return true
}

func (d *drain) deleteWaves(ctx context.Context, all []inventory.Entry) (gone bool, err error) {
	for start := 0; start < len(all); {
		end := start
		for end < len(all) && all[end].Order == all[start].Order {
			end++
		}
		gone, err := d.deleteWave(ctx, all[start:end])
		if err != nil || !gone {
			return false, err
		}
		start = end
	}
	return true, nil
}

// deleteWave deletes the objects of one wave and briefly waits until they are gone.
func (d *drain) deleteWave(ctx context.Context, wave []inventory.Entry) (gone bool, err error) {
	deadline := d.cfg.Clock.Now().Add(drainWait)
	backoff := jitter.Backoff{Min: 100 * time.Millisecond, Max: time.Second}
	for first := true; ; first = false {
		waiting := 0
		for _, e := range wave {
			if _, still := d.next.Entries[e.Ref]; !still {
				continue
			}
			wait, err := d.deleteOne(ctx, e, first)
			if err != nil {
				return false, err
			}
			if wait {
				waiting++
			}
		}
		if waiting == 0 {
			return len(d.result.Problems) == 0, nil
		}
		if d.cfg.Clock.Now().After(deadline) || len(d.result.Problems) > 0 || jitter.Wait(ctx, 50*time.Millisecond+backoff.Next()) != nil {
			return false, nil
		}
	}
}

func (d *drain) deleteOne(ctx context.Context, e inventory.Entry, first bool) (wait bool, err error) {
	if heir, _ := d.owners.Claims.Heir(d.service.ID, e.Ref); heir != "" {
		return false, d.done(e, prune.Forget, d.handOver(ctx, d.client, d.service.ID, heir, e))
	}
	if !prune.Prunable(d.next, e) {
		err := prune.Unmark(ctx, d.client, d.service.ID, e)
		return false, d.done(e, prune.Forget, err)
	}
	live, found, synced := d.cfg.Live.Lookup(e.Kind, e.Ref)
	if !first {
		synced = false
	}
	what, err := prune.Dispose(ctx, d.client, d.service.ID, e, live, found, synced)
	if err == nil && what == prune.Wait {
		return true, nil
	}
	return false, d.done(e, what, err)
}

func (d *drain) done(e inventory.Entry, what prune.Decision, err error) error {
	switch {
	case kubeclient.Away(err):
		return kubeclient.Unavailable(err)
	case err != nil:
		d.result.Problems = append(d.result.Problems, Problem{Source: "prune", Ref: e.Ref, Message: kubeclient.Explain("delete", e.Ref, err)})
		return nil
	case what == prune.Forget:
		d.result.Left++
	default:
		d.result.Deleted++
	}
	delete(d.next.Entries, e.Ref)
	return nil
}

// deleteNamespace deletes the namespace created for the service, if the service asks
// for that and no other service of ours is in it.
func (d *drain) deleteNamespace(ctx context.Context) error {
	if !d.service.DeleteNamespace || d.service.Namespace == "" || d.owners.NamespaceUsed(d.service.ID, d.service.Namespace) {
		return nil
	}
	ref := kubeobj.Ref{Kind: "Namespace", Name: d.service.Namespace}
	meta, err := d.client.Get(ctx, write.NamespaceKind, ref)
	if err == nil && meta != nil && meta.Annotations[kubeobj.CreatedForAnnotation] == d.service.ID {
		_, err = d.client.Remove(ctx, write.NamespaceKind, ref, meta.UID, meta.ResourceVersion)
		d.written.NamespaceLost(ref.Name)
	}
	if kubeclient.Away(err) {
		return kubeclient.Unavailable(err)
	}
	if err != nil {
		d.result.Problems = append(d.result.Problems, Problem{Source: "prune", Ref: ref, Message: kubeclient.Explain("delete", ref, err), Warning: true})
	}
	return nil
}

func (d *drain) unmarkAll(ctx context.Context) error {
	for _, e := range d.reverse() {
		if err := d.done(e, prune.Forget, prune.Unmark(ctx, d.client, d.service.ID, e)); err != nil {
			return err
		}
	}
	return nil
}
