package operations

import (
	"cmp"
	"context"
	"log/slog"
	"slices"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

// Services changes services; *fleet.Fleet implements it.
type Services interface {
	SyncService(ctx context.Context, by string, ref fleet.Ref, resources ...string) (fleet.ServiceView, error)
	PauseService(ctx context.Context, by string, ref fleet.Ref) (fleet.ServiceView, error)
	ResumeService(ctx context.Context, by string, ref fleet.Ref) (fleet.ServiceView, error)
	RollbackService(ctx context.Context, by string, ref fleet.Ref, number int64) (fleet.ServiceView, error)
}

// Reader reads services and clusters; fleet.Store implements it. Both return
// those of the ids that exist.
type Reader interface {
	ServicesByID(ctx context.Context, ids []string) ([]fleet.StoredService, error)
	ClustersByID(ctx context.Context, ids []string) ([]fleet.Cluster, error)
}

// Identity tells who somebody is now and what they may do;
// *identity.Directory implements it.
type Identity interface {
	Caller(ctx context.Context, tokenID string) (identity.Principal, error)
	Authorize(ctx context.Context, p identity.Principal, action identity.Action, scope identity.Scope) error
}

// Config holds the dependencies of Operations. Clock and Log may be nil.
type Config struct {
	Store    Store
	Writer   Writer
	Services Services
	Reader   Reader
	Identity Identity
	// Refresh asks for a look at the upstream of a repository, after a sync of a
	// service that has it, and returns at once.
	Refresh func(ctx context.Context, repositoryID string) error
	Clock   clock.Clock
	Log     *slog.Logger
}

// Operations begins, cancels and works off operations.
type Operations struct {
	Config
	wake chan struct{}
}

// New returns the operations of a hub.
func New(c Config) *Operations {
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Refresh == nil {
		c.Refresh = func(context.Context, string) error { return nil }
	}
	return &Operations{Config: c, wake: make(chan struct{}, 1)}
}

func (o *Operations) now() int64 { return clock.Micros(o.Clock.Now()) }

// Request starts an operation.
type Request struct {
	Action Action
	// ServiceIDs are the selected services; Selection says so for people.
	ServiceIDs []string
	Selection  string
	// Expected is how many the caller saw; 0 checks nothing.
	Expected int64
	Reason   string
}

// Plan is what an operation would do.
type Plan struct {
	Targets []Target
	// Forbidden counts the targets that the caller may read and not change, First
	// is the error for one of them.
	Forbidden int64
	First     error
}

// Plan checks a request as a caller, and changes nothing. Services that the caller
// may not read are NotFound, as those that do not exist.
func (o *Operations) Plan(ctx context.Context, caller identity.Principal, r Request) (Plan, error) {
	if err := r.check(); err != nil {
		return Plan{}, err
	}
	ids := slices.Compact(slices.Sorted(slices.Values(r.ServiceIDs)))
	places, err := o.places(ctx, ids)
	if err != nil {
		return Plan{}, err
	}
	var p Plan
	for _, id := range ids {
		place, exists := places[id]
		if !exists || o.Identity.Authorize(ctx, caller, identity.ActionRead, place.scope) != nil {
			return Plan{}, errcode.New(errcode.NotFound, "service %.80s does not exist", id)
		}
		if err := o.Identity.Authorize(ctx, caller, identity.ActionWrite, place.scope); err != nil {
			if p.Forbidden++; p.First == nil {
				p.First = errcode.New(errcode.Of(err), "%s: %s", place.ref, errcode.Message(err))
			}
		}
		p.Targets = append(p.Targets, Target{ServiceID: id, Cluster: place.ref.Cluster, Service: place.ref.Name, State: TargetWaiting})
	}
	slices.SortFunc(p.Targets, compareNames)
	return p, nil
}

func (r Request) check() error {
	if err := r.Action.Check(); err != nil {
		return err
	}
	n := int64(len(r.ServiceIDs))
	switch {
	case n == 0:
		return errcode.New(errcode.NotFound, "no service is selected")
	case n > MaxTargets:
		return errcode.New(errcode.Invalid, "more than %d services are selected, and an operation has no more; select fewer, for example those of one project", MaxTargets)
	case r.Expected > 0 && (n-r.Expected)*10 > r.Expected || (r.Expected-n)*10 > r.Expected:
		return errcode.New(errcode.Conflict, "%d services are selected now, and %d were shown; look at them again", n, r.Expected)
	}
	return nil
}

// Start stores an operation after its plan was checked: the caller may change
// every service, or nothing happens.
func (o *Operations) Start(ctx context.Context, caller identity.Principal, r Request) (Operation, error) {
	p, err := o.Plan(ctx, caller, r)
	if err != nil {
		return Operation{}, err
	}
	if p.Forbidden > 0 {
		return Operation{}, errcode.New(errcode.Of(p.First), "nothing was done: %d of %d services are not yours to change; the first: %s", p.Forbidden, len(p.Targets), errcode.Message(p.First))
	}
	op := Operation{
		ID: identity.NewID("op_"), Action: r.Action, State: Running, By: caller.By(), ActorID: caller.ID, TokenID: caller.TokenID,
		Reason: r.Reason, Selection: r.Selection, Total: int64(len(p.Targets)), CreatedAt: o.now(), UpdatedAt: o.now(),
	}
	for i := range p.Targets {
		p.Targets[i].OperationID, p.Targets[i].Position = op.ID, int64(i+1)
	}
	return op, o.Writer.Write(ctx, func(ctx context.Context) error {
		running, err := o.Store.Operations.RunningOperations(ctx, caller.ID)
		if err == nil && running >= MaxRunning {
			err = errcode.New(errcode.Exhausted, "%d operations of yours are running, which is the limit; wait for one, or cancel it", running)
		}
		if err != nil {
			return err
		}
		if err := o.Store.Operations.InsertOperation(ctx, op, p.Targets); err != nil {
			return err
		}
		return changed(ctx, op.ID)
	})
}

// Cancel ends an operation; what was done stays. Conflict when it has ended.
func (o *Operations) Cancel(ctx context.Context, id string) (op Operation, err error) {
	return op, o.Writer.Write(ctx, func(ctx context.Context) error {
		if op, err = o.Store.Operations.Operation(ctx, id); err != nil {
			return err
		}
		if op.State != Running {
			return errcode.New(errcode.Conflict, "operation %s has ended: it is %s", id, op.State)
		}
		return o.end(ctx, &op, Cancelled)
	})
}

// end ends an operation in the transaction of ctx.
func (o *Operations) end(ctx context.Context, op *Operation, state State) error {
	op.State, op.UpdatedAt, op.EndedAt = state, o.now(), o.now()
	if err := o.Store.Work.EndOperation(ctx, *op); err != nil {
		return err
	}
	return changed(ctx, op.ID)
}

// changed tells the replicas.
func changed(ctx context.Context, id string) error {
	return event.Append(ctx, event.Change{Kind: event.KindOperation, Key: id})
}

func compareNames(a, b Target) int {
	return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Service, b.Service))
}

// place is where a service is now.
type place struct {
	ref          fleet.Ref
	scope        identity.Scope
	repositoryID string
}

// read is how many services are in memory at once.
const read = 500

// places returns those of the services that exist, by id.
func (o *Operations) places(ctx context.Context, ids []string) (map[string]place, error) {
	all := make(map[string]place, len(ids))
	clusters := map[string]fleet.Cluster{}
	for part := range slices.Chunk(ids, read) {
		services, err := o.Reader.ServicesByID(ctx, part)
		if err != nil {
			return nil, err
		}
		var unknown []string
		for _, s := range services {
			if _, known := clusters[s.ClusterID]; !known {
				unknown = append(unknown, s.ClusterID)
			}
		}
		more, err := o.Reader.ClustersByID(ctx, slices.Compact(slices.Sorted(slices.Values(unknown))))
		if err != nil {
			return nil, err
		}
		for _, c := range more {
			clusters[c.ID] = c
		}
		for _, s := range services {
			all[s.ID] = place{s.Ref(), s.Scope(clusters[s.ClusterID]), s.RepositoryID}
		}
	}
	return all, nil
}
