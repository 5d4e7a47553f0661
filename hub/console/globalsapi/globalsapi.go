// Package globalsapi serves the API calls about global services. hub/console
// authorizes the callers and registers it; hub/fleet/globals does the work.
package globalsapi

import (
	"context"
	"slices"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/api/spec/convert"
	"github.com/axle-cd/axle/hub/console/management"
	"github.com/axle-cd/axle/hub/fleet/globals"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
)

// mostPaused bounds the rollouts that List tells to wait for a person.
const mostPaused = 100

// API implements the calls. All fields are required.
type API struct {
	Globals  *globals.Globals
	Rollouts *globals.Rollouts
	// Readable returns what the caller may read, and By who they are.
	Readable func(ctx context.Context) (identity.Reach, error)
	By       func(ctx context.Context) string
}

var _ hubv1connect.GlobalServicesHandler = (*API)(nil)

// List implements hubv1connect.GlobalServicesHandler.
func (s *API) List(ctx context.Context, r *connect.Request[hubv1.ListGlobalServicesRequest]) (*connect.Response[hubv1.ListGlobalServicesResponse], error) {
	reach, err := s.Readable(ctx)
	if err != nil {
		return nil, err
	}
	all, next, err := s.Globals.List(ctx, r.Msg.GetPageToken(), int(r.Msg.GetPageSize()), &reach)
	if err != nil {
		return nil, err
	}
	waiting := map[string]string{}
	if slices.ContainsFunc(all, func(g globals.Global) bool { return g.Held > 0 }) {
		paused, err := s.Rollouts.Paused(ctx, mostPaused, reach)
		if err != nil {
			return nil, err
		}
		for _, p := range paused {
			waiting[p.Name] = string(p.Phase)
		}
	}
	out := &hubv1.ListGlobalServicesResponse{NextPageToken: next}
	for _, g := range all {
		m := message(g)
		m.RolloutWaits = waiting[g.Name]
		out.GlobalServices = append(out.GlobalServices, m)
	}
	return connect.NewResponse(out), nil
}

// Get implements hubv1connect.GlobalServicesHandler.
func (s *API) Get(ctx context.Context, r *connect.Request[hubv1.GetGlobalServiceRequest]) (*connect.Response[hubv1.GlobalService], error) {
	g, err := s.Globals.Get(ctx, r.Msg.GetName())
	if err != nil {
		return nil, err
	}
	out := withTemplate(g)
	if out.State, err = s.state(ctx, g.ID); err != nil {
		return nil, err
	}
	uncounted, err := s.Globals.Uncounted(ctx, g)
	for _, u := range uncounted {
		out.State.Uncounted = append(out.State.Uncounted, &hubv1.UncountedCluster{Cluster: u.Cluster, Tags: u.Tags})
	}
	return connect.NewResponse(out), err
}

func (s *API) state(ctx context.Context, id string) (*hubv1.GlobalServiceState, error) {
	state, err := s.Globals.State(ctx, id)
	if err != nil {
		return nil, err
	}
	out := &hubv1.GlobalServiceState{
		Services: int32(state.Targets), Ready: int32(state.Ready), Failing: int32(state.Failing), Pending: state.Pending, Sync: counts(state.Sync), Health: counts(state.Health),
	}
	for _, f := range state.Failures {
		out.Failures = append(out.Failures, &hubv1.GlobalServiceFailure{Cluster: f.Cluster, Message: f.Message, At: f.At})
	}
	return out, nil
}

// Apply implements hubv1connect.GlobalServicesHandler.
func (s *API) Apply(ctx context.Context, r *connect.Request[hubv1.ApplyGlobalServiceRequest]) (*connect.Response[hubv1.ApplyGlobalServiceResponse], error) {
	in := r.Msg.GetSettings()
	request := globals.Request{
		Name: r.Msg.GetName(), Project: in.GetProject(), Cascade: globals.Cascade(in.GetCascade()), Reparent: in.GetReparent(), Interval: in.GetIntervalMicros(),
		Context: in.GetContext(), DryRun: r.Msg.GetDryRun(),
		Selectors: globals.Selectors{Distro: in.GetDistro(), IgnoreClusters: in.GetIgnoreClusters()},
	}
	if len(in.GetTags()) > 0 {
		request.Selectors.Tags = in.GetTags()
	}
	if in != nil {
		request.Selectors.Mgmt = in.Mgmt
	}
	request.Plan = planOf(in.GetRollout())
	if r.Msg.GetSpec() == nil {
		return nil, errcode.New(errcode.Invalid, "spec: is missing; it is the template of the services")
	}
	convert.Copy(&request.Spec, r.Msg.GetSpec())
	g, outcome, err := s.Globals.Apply(ctx, s.By(ctx), request)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&hubv1.ApplyGlobalServiceResponse{GlobalService: withTemplate(g), Result: string(outcome)}), nil
}

// Delete implements hubv1connect.GlobalServicesHandler.
func (s *API) Delete(ctx context.Context, r *connect.Request[hubv1.DeleteGlobalServiceRequest]) (*connect.Response[hubv1.DeleteGlobalServiceResponse], error) {
	return connect.NewResponse(&hubv1.DeleteGlobalServiceResponse{}), s.Globals.Delete(ctx, s.By(ctx), r.Msg.GetName(), "")
}

// message is a global service without its template.
func message(g globals.Global) *hubv1.GlobalService {
	return &hubv1.GlobalService{
		Id: g.ID, Name: g.Name, Deleting: g.Deleting, ManagedBy: management.Out(g.ManagedBy), DeclaredBy: g.DeclaredBy, RollingOut: g.Held > 0, CreatedAt: g.CreatedAt, UpdatedAt: g.UpdatedAt,
		Settings: &hubv1.GlobalServiceSettings{
			Project: g.Project, Tags: g.Selectors.Tags, Distro: g.Selectors.Distro, Mgmt: g.Selectors.Mgmt, IgnoreClusters: g.Selectors.IgnoreClusters,
			Cascade: string(g.Cascade), Reparent: g.Reparent, IntervalMicros: g.Interval, Context: g.Context,
			Rollout: planMessage(g.Plan),
		},
	}
}

func withTemplate(g globals.Global) *hubv1.GlobalService {
	out := message(g)
	out.Spec = &hubv1.ServiceSpec{}
	convert.Copy(out.Spec, g.Spec)
	return out
}

func counts(of map[string]int) map[string]int32 {
	out := make(map[string]int32, len(of))
	for name, n := range of {
		out[name] = int32(n)
	}
	return out
}
