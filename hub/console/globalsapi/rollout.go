package globalsapi

import (
	"cmp"
	"context"
	"slices"
	"time"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/fanout"
	"github.com/axle-cd/axle/internal/errcode"
)

// mostClusters is how many clusters of a rollout one answer lists.
const mostClusters = 1000

// GetRollout implements hubv1connect.GlobalServicesHandler.
func (s *API) GetRollout(ctx context.Context, r *connect.Request[hubv1.GetRolloutRequest]) (*connect.Response[hubv1.Rollout], error) {
	g, err := s.Globals.Get(ctx, r.Msg.GetName())
	if err != nil {
		return nil, err
	}
	last, targets, err := s.Rollouts.Latest(ctx, g.Name)
	if errcode.Is(err, errcode.NotFound) {
		return connect.NewResponse(&hubv1.Rollout{}), nil
	}
	if err != nil {
		return nil, err
	}
	out := &hubv1.Rollout{
		Version: last.Version, Previous: last.Previous, Plan: planMessage(&last.Plan), Phase: string(last.Phase), Message: last.Message, StartedBy: last.By,
		Wave: int32(last.Wave + 1), Waves: int32(len(last.Plan.Waves)), CreatedAt: last.CreatedAt, UpdatedAt: last.UpdatedAt, States: map[string]int32{},
	}
	slices.SortStableFunc(targets, func(a, b fanout.Target) int {
		return cmp.Compare(rank(a.State), rank(b.State))
	})
	for _, t := range targets {
		out.States[string(t.State)]++
	}
	targets = targets[:min(len(targets), mostClusters)]
	names, err := s.Rollouts.ClusterNames(ctx, targets)
	if err != nil {
		return nil, err
	}
	for _, t := range targets {
		out.Clusters = append(out.Clusters, &hubv1.RolloutCluster{Cluster: names[t.ClusterID], Wave: int32(t.Wave + 1), State: string(t.State), Message: t.Message})
	}
	return connect.NewResponse(out), nil
}

// rank orders the clusters that need a look first.
func rank(s fanout.State) int {
	switch s {
	case fanout.Failed:
		return 0
	case fanout.Placed:
		return 1
	}
	return 2
}

// PauseRollout implements hubv1connect.GlobalServicesHandler.
func (s *API) PauseRollout(ctx context.Context, r *connect.Request[hubv1.PauseRolloutRequest]) (*connect.Response[hubv1.PauseRolloutResponse], error) {
	return connect.NewResponse(&hubv1.PauseRolloutResponse{}), s.Rollouts.Change(ctx, s.By(ctx), r.Msg.GetName(), (*fanout.Engine).Pause)
}

// ResumeRollout implements hubv1connect.GlobalServicesHandler.
func (s *API) ResumeRollout(ctx context.Context, r *connect.Request[hubv1.ResumeRolloutRequest]) (*connect.Response[hubv1.ResumeRolloutResponse], error) {
	return connect.NewResponse(&hubv1.ResumeRolloutResponse{}), s.Rollouts.Change(ctx, s.By(ctx), r.Msg.GetName(), (*fanout.Engine).Resume)
}

// AbortRollout implements hubv1connect.GlobalServicesHandler.
func (s *API) AbortRollout(ctx context.Context, r *connect.Request[hubv1.AbortRolloutRequest]) (*connect.Response[hubv1.AbortRolloutResponse], error) {
	return connect.NewResponse(&hubv1.AbortRolloutResponse{}), s.Rollouts.Change(ctx, s.By(ctx), r.Msg.GetName(), (*fanout.Engine).Abort)
}

func planOf(in *hubv1.RolloutPlan) *fanout.Plan {
	if in == nil {
		return nil
	}
	return &fanout.Plan{
		Waves: in.GetWaves(), MaxUnavailable: in.GetMaxUnavailable(), FailPercent: int(in.GetFailPercent()),
		Soak: time.Duration(in.GetSoakMicros()) * time.Microsecond, FailAfter: time.Duration(in.GetFailAfterMicros()) * time.Microsecond,
	}
}

func planMessage(p *fanout.Plan) *hubv1.RolloutPlan {
	if p == nil {
		return nil
	}
	return &hubv1.RolloutPlan{
		Waves: p.Waves, MaxUnavailable: p.MaxUnavailable, FailPercent: int32(p.FailPercent), SoakMicros: p.Soak.Microseconds(), FailAfterMicros: p.FailAfter.Microseconds(),
	}
}
