// Package operationsapi answers Operations: it starts, lists and cancels actions
// on many services. It translates, and asks hub/operations, which checks the
// caller's right on every service before anything happens. hub/console calls it.
package operationsapi

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/reflect/protoreflect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/operations"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/protobox"
)

const (
	listed, mostListed           = 50, 200
	targetsListed, mostTargets   = 100, 500
	exampleNames                 = 20
	dryRun                       = "DryRun"
	maxSelection                 = 1000
	maxCursor                    = 40
	failedSelection, namedOfThem = "the failed services of %s", "%d named services"
)

// Selector finds the services that a filter selects.
type Selector interface {
	// Select returns the ids of at most limit services within reach.
	Select(ctx context.Context, filter *hubv1.ServiceFilter, reach identity.Reach, limit int) (ids []string, err error)
}

// API answers the calls.
type API struct {
	Operations *operations.Operations
	Services   Selector
	Caller     func(ctx context.Context) identity.Principal
	// Readable returns what the caller may read.
	Readable func(ctx context.Context) (identity.Reach, error)
}

// Start implements hubv1connect.OperationsHandler.
func (a *API) Start(ctx context.Context, r *connect.Request[hubv1.StartOperationRequest]) (*connect.Response[hubv1.Operation], error) {
	m := r.Msg
	request := operations.Request{Action: operations.Action(m.GetAction()), Expected: m.GetExpected(), Reason: m.GetReason()}
	err := request.Action.Check()
	if err == nil {
		err = event.Why{Reason: m.GetReason()}.Check()
	}
	if err == nil {
		request.ServiceIDs, request.Selection, err = a.selected(ctx, m)
	}
	if err != nil {
		return nil, err
	}
	if !m.GetDryRun() {
		o, err := a.Operations.Start(ctx, a.Caller(ctx), request)
		if err != nil {
			return nil, err
		}
		return connect.NewResponse(message(o)), nil
	}
	plan, err := a.Operations.Plan(ctx, a.Caller(ctx), request)
	if err != nil {
		return nil, err
	}
	out := &hubv1.Operation{
		Action: m.GetAction(), State: dryRun, By: a.Caller(ctx).By(), Reason: m.GetReason(), Selection: request.Selection,
		Total: int64(len(plan.Targets)), Forbidden: plan.Forbidden,
	}
	for _, t := range plan.Targets[:min(len(plan.Targets), exampleNames)] {
		out.Examples = append(out.Examples, t.Cluster+"/"+t.Service)
	}
	return connect.NewResponse(out), nil
}

// selected returns the services that a request selects, in one way of three.
func (a *API) selected(ctx context.Context, m *hubv1.StartOperationRequest) (ids []string, words string, err error) {
	ways := 0
	for _, used := range []bool{m.GetFilter() != nil, len(m.GetServiceIds()) > 0, m.GetFailedOf() != ""} {
		if used {
			ways++
		}
	}
	switch {
	case ways != 1:
		return nil, "", errcode.New(errcode.Invalid, "select services in one way: filter, service_ids or failed_of")
	case len(m.GetServiceIds()) > operations.MaxNamed:
		return nil, "", errcode.New(errcode.Invalid, "%d services are named, and at most %d can be; use a filter", len(m.GetServiceIds()), operations.MaxNamed)
	case len(m.GetServiceIds()) > 0:
		return m.GetServiceIds(), fmt.Sprintf(namedOfThem, len(m.GetServiceIds())), nil
	case m.GetFailedOf() != "":
		// The gate has checked that the caller may see it.
		ids, err = a.Operations.Store.Targets.FailedTargets(ctx, m.GetFailedOf())
		return ids, fmt.Sprintf(failedSelection, m.GetFailedOf()), err
	}
	reach, err := a.Readable(ctx)
	if err != nil {
		return nil, "", err
	}
	ids, err = a.Services.Select(ctx, m.GetFilter(), reach, operations.MaxTargets+1)
	return ids, filterWords(m.GetFilter()), err
}

// filterWords says a filter in words: "cluster edge-1 or edge-2, sync Failed".
func filterWords(filter *hubv1.ServiceFilter) string {
	var parts []string
	m := filter.ProtoReflect()
	for i := range m.Descriptor().Fields().Len() {
		f := m.Descriptor().Fields().Get(i)
		if !m.Has(f) {
			continue
		}
		name := strings.ReplaceAll(string(f.Name()), "_", " ")
		parts = append(parts, name+" "+valueWords(f, m.Get(f)))
	}
	if len(parts) == 0 {
		return "all services"
	}
	words := strings.Join(parts, ", ")
	return words[:min(len(words), maxSelection)]
}

func valueWords(f protoreflect.FieldDescriptor, v protoreflect.Value) string {
	if !f.IsList() {
		return v.String()
	}
	return strings.Join(protobox.Texts(v.List()), " or ")
}

// List implements hubv1connect.OperationsHandler. It shows a caller's own ones, and
// all to those who may read the whole hub.
func (a *API) List(ctx context.Context, r *connect.Request[hubv1.ListOperationsRequest]) (*connect.Response[hubv1.ListOperationsResponse], error) {
	limit, err := bounded(r.Msg.GetLimit(), listed, mostListed)
	if err != nil {
		return nil, err
	}
	reach, err := a.Readable(ctx)
	if err != nil {
		return nil, err
	}
	actor := a.Caller(ctx).ID
	if reach.Hub() {
		actor = ""
	}
	var after *operations.Operation
	if id := r.Msg.GetAfter(); id != "" {
		o, err := a.Operations.Store.Operations.Operation(ctx, id)
		if err == nil && actor != "" && o.ActorID != actor {
			err = errcode.New(errcode.NotFound, "operation %.80q does not exist", id)
		}
		if err != nil {
			return nil, err
		}
		after = &o
	}
	all, err := a.Operations.Store.Operations.ListOperations(ctx, actor, after, limit)
	if err != nil {
		return nil, err
	}
	out := &hubv1.ListOperationsResponse{}
	for _, o := range all {
		out.Operations = append(out.Operations, message(o))
	}
	return connect.NewResponse(out), nil
}

// Get implements hubv1connect.OperationsHandler.
func (a *API) Get(ctx context.Context, r *connect.Request[hubv1.GetOperationRequest]) (*connect.Response[hubv1.Operation], error) {
	o, err := a.Operations.Store.Operations.Operation(ctx, r.Msg.GetId())
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(message(o)), nil
}

// Cancel implements hubv1connect.OperationsHandler.
func (a *API) Cancel(ctx context.Context, r *connect.Request[hubv1.CancelOperationRequest]) (*connect.Response[hubv1.Operation], error) {
	o, err := a.Operations.Cancel(ctx, r.Msg.GetId())
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(message(o)), nil
}

// ListTargets implements hubv1connect.OperationsHandler.
func (a *API) ListTargets(ctx context.Context, r *connect.Request[hubv1.ListOperationTargetsRequest]) (*connect.Response[hubv1.ListOperationTargetsResponse], error) {
	limit, err := bounded(r.Msg.GetLimit(), targetsListed, mostTargets)
	if err != nil {
		return nil, err
	}
	after, err := parsePlace(r.Msg.GetPageToken())
	if err != nil {
		return nil, err
	}
	all, err := a.Operations.Store.Targets.OperationTargets(ctx, r.Msg.GetId(), after, r.Msg.GetFailedOnly(), limit+1)
	if err != nil {
		return nil, err
	}
	out := &hubv1.ListOperationTargetsResponse{}
	if len(all) > limit {
		last := all[limit-1]
		all, out.NextPageToken = all[:limit], fmt.Sprintf("%d-%d", last.Rank(), last.Position)
	}
	for _, t := range all {
		out.Targets = append(out.Targets, &hubv1.OperationTarget{
			ServiceId: t.ServiceID, Cluster: t.Cluster, Service: t.Service, State: string(t.State), Message: t.Message, At: t.At,
		})
	}
	return connect.NewResponse(out), nil
}

func parsePlace(token string) (p operations.Place, err error) {
	if token == "" {
		return p, nil
	}
	rank, position, _ := strings.Cut(token, "-")
	p.Rank, err = strconv.ParseInt(rank, 10, 64)
	if err == nil {
		p.Position, err = strconv.ParseInt(position, 10, 64)
	}
	if err != nil || len(token) > maxCursor {
		return p, errcode.New(errcode.Invalid, "page token %.40q is not one of this list", token)
	}
	return p, nil
}

func bounded(limit int32, usual, most int) (int, error) {
	switch {
	case limit < 0 || int(limit) > most:
		return 0, errcode.New(errcode.Invalid, "limit is %d; ask for 1 to %d, or 0 for %d", limit, most, usual)
	case limit == 0:
		return usual, nil
	}
	return int(limit), nil
}

func message(o operations.Operation) *hubv1.Operation {
	return &hubv1.Operation{
		Id: o.ID, Action: string(o.Action), State: string(o.State), By: o.By, Reason: o.Reason, Selection: o.Selection,
		Total: o.Total, Done: o.Done, Failed: o.Failed, CreatedAt: o.CreatedAt, UpdatedAt: o.UpdatedAt, EndedAt: o.EndedAt,
	}
}
