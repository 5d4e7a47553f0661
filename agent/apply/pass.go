package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/agent/apply/inventory"
	"github.com/axle-cd/axle/agent/apply/kubeclient"
	"github.com/axle-cd/axle/agent/apply/ownership"
	"github.com/axle-cd/axle/agent/apply/plan"
	"github.com/axle-cd/axle/agent/apply/wave"
	"github.com/axle-cd/axle/agent/apply/write"
	"github.com/axle-cd/axle/agent/tenancy"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/internal/logkey"
)

// When an unfinished pass is tried again.
const (
	againRefused = time.Minute
	againWaiting = 5 * time.Second
	againSoon    = 10 * time.Second
	againPartial = 2 * time.Minute
	// syncLimit bounds the wait for watches. After that, objects are requested one by
	// one.
	syncLimit = 10 * time.Second
)

// run is one running pass.
type run struct {
	*Engine
	service Service
	permit  tenancy.Permit
	state   *ownership.State
	client  *kubeclient.Client
	plan    *plan.Plan
	// before is the inventory at the start of the pass, next the one it will write.
	before, next *inventory.Inventory
	result       Result
	// changed says that this pass wrote something.
	changed bool
	// dirty says that next differs from the stored inventory.
	dirty bool
	// soon says that a refusal is likely to go away within seconds.
	soon   bool
	writer *write.Writer
	// began is the start of this step; more says that work is left for the next one.
	began time.Time
	more  bool
	// taken counts the writes this step began: each step writes something.
	taken int
	// ended says that the result is final: the pass waits or failed.
	ended bool
	// hookWhy holds the failure reasons of hooks that ended during this pass.
	hookWhy map[kubeobj.Ref]string
}

// Pass makes the cluster hold exactly objects for the service. An error means that
// nothing could be read or stored (Unavailable: the API server is; Conflict: another
// agent writes the same inventory). What happened to single objects is in the Result.
// Forbidden: the permit is not the service's.
func (e *Engine) Pass(ctx context.Context, permit tenancy.Permit, service Service, objects []*unstructured.Unstructured) (Result, error) {
	t := e.begin(service)
	defer e.end(t)
	result, err := e.pass(ctx, t, permit, service, objects)
	if err != nil {
		return Result{Sync: SyncFailed, Reason: ReasonAPIServer, Message: service.Scrub.String(err.Error()), Again: jitter.Around(15*time.Second, 5*time.Second)},
			scrubbed(service, err)
	}
	return result, nil
}

// begin waits for the service's turn.
func (e *Engine) begin(service Service) *ownership.State {
	t := e.owners.Begin(service.ID)
	e.kept.serve(service)
	return t
}

func (e *Engine) end(t *ownership.State) { e.cfg.Live.Recheck(e.owners.End(t)) }

func (e *Engine) pass(ctx context.Context, t *ownership.State, permit tenancy.Permit, service Service, objects []*unstructured.Unstructured) (Result, error) {
	r := &run{Engine: e, service: service, permit: permit, state: t, began: time.Now()}
	var err error
	if r.client, err = e.clientOf(permit, service); err != nil {
		return Result{}, err
	}
	if err := r.open(ctx); err != nil {
		return Result{}, err
	}
	if r.plan, err = r.planner(r.service, r.permit, r.before).Plan(ctx, objects); err != nil {
		return Result{}, err
	}
	e.owners.Want(service, r.before, r.plan, "it does not apply its present revision yet")
	r.result.Problems = append(r.result.Problems, r.plan.Problems...)
	r.result.Missing = r.plan.Missing
	if err := r.advance(ctx); err != nil {
		return Result{}, err
	}
	r.finish()
	if r.writer == nil && r.result.Message != "" {
		e.owners.Claims.Rests(service.ID, r.result.Message)
	}
	return r.result, nil
}

// advance takes the service as far as it can go now.
func (r *run) advance(ctx context.Context) error {
	if r.windowHolds() {
		return nil
	}
	if busy := r.takeGoal(); busy != "" {
		return r.yield(ctx, busy)
	}
	r.kept.remember(r.service, r.client, r.plan)
	if r.resting() {
		if r.hookEnds() {
			r.dirty = true
		}
		if err := r.saveIfDirty(ctx); err != nil {
			return err
		}
		return r.sweep(ctx)
	}
	if err := r.applyAll(ctx); err != nil || r.ended {
		return err
	}
	return r.settle(ctx)
}

// open loads the known state of the service.
func (r *run) open(ctx context.Context) error {
	known, stale, _ := r.owners.Known(r.state)
	if stale {
		var err error
		if known, err = r.reload(ctx, r.state, r.service.ID); err != nil {
			return err
		}
	}
	if known == nil {
		known = &inventory.Inventory{Service: r.service.ID, Phase: PhaseApplying, Approval: r.service.PruneApproval, Entries: map[kubeobj.Ref]inventory.Entry{}}
		r.dirty = true
	}
	r.before, r.next = known, known.Clone()
	n := r.next
	if n.Name != r.service.Name || n.Namespace != r.service.Namespace || n.Strict != r.service.Strict || n.User != r.permit.User() {
		n.Name, n.Namespace, n.Strict, n.User = r.service.Name, r.service.Namespace, r.service.Strict, r.permit.User()
		r.dirty = true
	}
	return nil
}

// reload reads one inventory again, after another writer changed it or after a failed
// read.
func (e *Engine) reload(ctx context.Context, t *ownership.State, service string) (*inventory.Inventory, error) {
	all, broken, err := e.store.List(ctx, service)
	if err != nil {
		return nil, err
	}
	if err := broken[service]; err != nil {
		return nil, err
	}
	if i := all[service]; i != nil {
		e.adoptInventory(i)
		return i, nil
	}
	e.owners.MarkStale(t, false)
	return nil, nil
}

// applyAll writes what differs, stage by stage and wave by wave. The inventory lists
// every object before it is created.
func (r *run) applyAll(ctx context.Context) error {
	r.owners.Claims.Rests(r.service.ID, "")
	todo := r.claim()
	r.owners.Claim(r.state, r.next.Kinds())
	r.watch()
	if len(r.before.Entries) > 0 {
		waitCtx, cancel := context.WithTimeout(ctx, syncLimit)
		r.cfg.Live.Wait(waitCtx, r.before.Kinds())
		cancel()
	}
	if todo {
		r.next.Phase = PhaseApplying
		if err := r.save(ctx); err != nil {
			return err
		}
	}
	r.writer = &write.Writer{Common: r.written, Client: r.client, Service: r.service, Targets: r.plan.Targets(), NewKinds: map[string]bool{}}
	if err := r.prepareNamespace(ctx); err != nil {
		return err
	}
	groups := r.plan.Groups()
	for n, group := range groups {
		if ok, err := r.mayEnter(ctx, groups, n); err != nil || !ok {
			r.ended = true
			return err
		}
		r.next.Reached = group[0].Order
		failed, err := r.applyGroup(ctx, group)
		if err == nil && r.more {
			r.ended = true
			return r.pause(ctx)
		}
		if err == nil && failed == 0 {
			failed, err = r.waitDefinitions(ctx, group)
		}
		if err != nil {
			return err
		}
		if failed > 0 {
			r.postpone(groups[n+1:])
			r.result.Partly = true
			return nil
		}
	}
	ok, err := r.mayEnter(ctx, groups, len(groups))
	r.ended = !ok
	return err
}

// claim adds new objects to the inventory and marks those that are no longer
// rendered. It reports whether this must be stored first.
func (r *run) claim() bool {
	todo := r.dirty
	r.keepDrainHooks()
	for _, it := range append(slices.Clone(r.plan.Items), r.plan.Fail...) {
		if had, ok := r.next.Entries[it.Ref]; ok {
			if had.Leaving || had.Kind != it.Kind || had.Order != it.Order || had.Prune != it.Prune || had.Once != it.Once {
				had.Leaving, had.Kind, had.Order, had.Prune, had.Once = false, it.Kind, it.Order, it.Prune, it.Once
				r.next.Entries[it.Ref] = had
				r.dirty = true
			}
			continue
		}
		r.next.Entries[it.Ref] = inventory.Entry{Kind: it.Kind, Ref: it.Ref, Order: it.Order, Once: it.Once, Prune: it.Prune}
		r.dirty, todo = true, true
	}
	for ref, had := range r.next.Entries {
		if it := r.plan.ByRef[ref]; (it == nil || it.Order.Stage == wave.StageLeave) && !had.Leaving && !r.unplanned(ref) {
			had.Leaving = true
			r.next.Entries[ref] = had
			r.dirty = true
		}
	}
	return todo
}

// unplanned reports whether an object is rendered but could not be planned: a mistake
// in its manifest is no reason to delete it.
func (r *run) unplanned(ref kubeobj.Ref) bool {
	for _, p := range r.plan.Problems {
		if !p.Warning && p.Ref.Group == ref.Group && p.Ref.Kind == ref.Kind && p.Ref.Name == ref.Name {
			return true
		}
	}
	return false
}

// applyGroup writes one wave at once and returns how many objects failed.
func (r *run) applyGroup(ctx context.Context, group []*wave.Item) (failed int, err error) {
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		stop error
	)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// Judge all before writing any: the writers change the state that judging reads.
	var changed []*wave.Item
	for _, it := range group {
		if it.Hook.Runs && r.ran(it) || !it.Hook.Runs && r.unchanged(it, r.next.Entries[it.Ref]) {
			r.result.Unchanged++
		} else {
			changed = append(changed, it)
		}
	}
	take := func() *wave.Item {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case len(changed) == 0 || ctx.Err() != nil:
			return nil
		case r.taken > 0 && r.overtime():
			r.more = true
			return nil
		}
		r.taken++
		it := changed[0]
		changed = changed[1:]
		return it
	}
	for range min(len(changed), r.cfg.Concurrency) {
		wg.Go(func() {
			for it := take(); it != nil; it = take() {
				written, err := r.writeOne(ctx, it)
				mu.Lock()
				var refused *write.Refusal
				switch {
				case err == nil:
					r.wrote(it, written)
				case errors.As(err, &refused):
					failed++
					r.refuse(it, refused)
				case stop == nil:
					stop = err
					cancel()
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return failed, stop
}

// writeOne applies an object, or starts a hook.
func (r *run) writeOne(ctx context.Context, it *wave.Item) (inventory.Entry, error) {
	var known *inventory.Entry
	if old, ok := r.before.Entries[it.Ref]; ok {
		known = &old
	}
	if !it.Hook.Runs {
		return r.writer.Write(ctx, it, known)
	}
	e, err := r.writer.Start(ctx, it, known, r.runName(it))
	if err == nil {
		e = r.started(it, e)
	}
	return e, err
}

// unchanged reports whether an object needs no request: it was applied with the same
// content, and the watches say that it has not changed since.
func (r *run) unchanged(it *wave.Item, had inventory.Entry) bool {
	// A person who asks for a sync has seen that fields were lost.
	if had.Hash != it.Hash || had.Hash == 0 || had.Lost != "" && r.service.SyncRequest > r.before.SyncRequest {
		return false
	}
	live, found, synced := r.cfg.Live.Lookup(it.Kind, it.Ref)
	if !synced {
		return false
	}
	if !found {
		return had.Once
	}
	if live.UID != had.UID || live.Deleting || live.Strings {
		return false
	}
	what := kubeobj.Compare(inventory.Expects(r.service.ID, had), live, true)
	return what == kubeobj.Intact || what == kubeobj.Added && !r.service.Strict
}

func (r *run) wrote(it *wave.Item, written inventory.Entry) {
	r.owners.Claims.Drop(it.Ref)
	r.next.Entries[it.Ref] = written
	r.result.Applied++
	r.changed, r.dirty = true, true
}

func (r *run) refuse(it *wave.Item, why *write.Refusal) {
	r.result.Problems = append(r.result.Problems, Problem{Source: "apply", Ref: it.Ref, Message: why.Message})
	r.soon = r.soon || why.Soon
	if why.Reason != "" {
		r.result.Reason = why.Reason
		// It was never ours: it must not count as ours later.
		if old, had := r.before.Entries[it.Ref]; !had || old.Hash == 0 {
			delete(r.next.Entries, it.Ref)
			r.dirty = true
		}
	}
}

// postpone says that later waves wait for an earlier one.
func (r *run) postpone(groups [][]*wave.Item) {
	waiting := 0
	for _, group := range groups {
		for _, it := range group {
			if !r.unchanged(it, r.next.Entries[it.Ref]) {
				waiting++
			}
		}
	}
	if waiting > 0 {
		r.result.Problems = append(r.result.Problems, Problem{Source: "apply", Warning: true,
			Message: fmt.Sprintf("%d objects of later waves wait until the objects above are applied", waiting)})
	}
}

// failed reports whether some object could not be applied.
func (r *run) failed() bool {
	for _, p := range r.result.Problems {
		if p.Source == "apply" && !p.Warning {
			return true
		}
	}
	return false
}

// save stores next, then makes it what is known.
func (r *run) save(ctx context.Context) error {
	if r.changed {
		r.next.AppliedAt = r.cfg.Clock.Now()
	}
	stored := r.next.Clone()
	if err := r.store.Save(ctx, stored); err != nil {
		if errcode.Is(err, errcode.Conflict) {
			r.owners.MarkStale(r.state, true)
		}
		return err
	}
	r.next.Version, r.next.Shards, r.next.StoredSync = stored.Version, stored.Shards, stored.StoredSync
	r.owners.Commit(r.state, stored)
	r.dirty = false
	return nil
}

// finish words the result.
func (r *run) finish() {
	res := &r.result
	res.Phase = r.next.Phase
	scrub := r.service.Scrub
	for n := range res.Problems {
		res.Problems[n].Message = scrub.String(res.Problems[n].Message)
	}
	res.Message = scrub.String(res.Message)
	if res.Applied > 0 || res.Pruned > 0 || len(res.Problems) > 0 {
		r.cfg.Log.Info("pass of a service", logkey.Service, r.service.ID, "phase", string(res.Phase), "applied", res.Applied,
			"unchanged", res.Unchanged, "pruned", res.Pruned, "problems", len(res.Problems))
	}
}

func scrubbed(service Service, err error) error {
	text := service.Scrub.String(err.Error())
	if text == err.Error() {
		return err
	}
	return errcode.New(errcode.Of(err), "%s", text)
}
