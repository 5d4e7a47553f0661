package console

import (
	"context"
	"time"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/console/management"
	"github.com/axle-cd/axle/hub/fanout"
	"github.com/axle-cd/axle/internal/errcode"
)

// AgentUpgrades moves agents to another version; hub/fanout implements it.
type AgentUpgrades interface {
	StartUpgrade(ctx context.Context, by, version, image string, plan fanout.Plan) (fanout.Rollout, error)
	Latest(ctx context.Context) (fanout.Rollout, []fanout.Target, error)
	Pause(ctx context.Context, by string) (fanout.Rollout, error)
	Resume(ctx context.Context, by string) (fanout.Rollout, error)
	Abort(ctx context.Context, by string) (fanout.Rollout, error)
}

type agents struct{ *Server }

// answer returns the last upgrade as it is stored.
func (s *agents) answer(ctx context.Context) (*connect.Response[hubv1.AgentUpgrade], error) {
	r, targets, err := s.config.Agents.Latest(ctx)
	if errcode.Is(err, errcode.NotFound) {
		return connect.NewResponse(&hubv1.AgentUpgrade{HubVersion: s.config.Version}), nil
	}
	if err != nil {
		return nil, err
	}
	states, err := s.config.Fleet.Builtins(ctx, fanout.AgentService, nil)
	if err != nil {
		return nil, err
	}
	reach, err := s.readable(ctx)
	if err != nil {
		return nil, err
	}
	names, versions := make(map[string]string, len(states)), make(map[string]string, len(states))
	for _, state := range states {
		if !reach.Covers(state.Cluster.Scope()) {
			continue
		}
		names[state.Cluster.ID], versions[state.Cluster.ID] = state.Cluster.Name, state.Cluster.AgentVersion
	}
	out := &hubv1.AgentUpgrade{
		Image: fanout.ImageOf(r),
		Id:    r.ID, Version: r.Version, Previous: r.Previous, Phase: string(r.Phase), Wave: int32(r.Wave) + 1, Waves: r.Plan.Waves,
		Message: r.Message, By: r.By, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, HubVersion: s.config.Version, ManagedBy: management.Out(r.ManagedBy),
	}
	if !reach.Everywhere {
		// The message may name clusters that the caller may not see.
		out.Message = ""
	}
	for _, t := range targets {
		if names[t.ClusterID] == "" {
			continue
		}
		out.Targets = append(out.Targets, &hubv1.AgentUpgradeTarget{
			Cluster: names[t.ClusterID], Wave: int32(t.Wave) + 1, State: string(t.State), Message: t.Message,
			AgentVersion: versions[t.ClusterID], PlacedAt: t.PlacedAt, GoodSince: t.GoodSince,
		})
	}
	return connect.NewResponse(out), nil
}

// changed applies a person's change and returns the upgrade.
func (s *agents) changed(ctx context.Context, change func(ctx context.Context, by string) (fanout.Rollout, error)) (*connect.Response[hubv1.AgentUpgrade], error) {
	if _, err := change(ctx, caller(ctx).By()); err != nil {
		return nil, err
	}
	return s.answer(ctx)
}

func (s *agents) UpgradeStatus(ctx context.Context, _ *connect.Request[hubv1.UpgradeStatusRequest]) (*connect.Response[hubv1.AgentUpgrade], error) {
	return s.answer(ctx)
}

func (s *agents) StartUpgrade(ctx context.Context, r *connect.Request[hubv1.StartUpgradeRequest]) (*connect.Response[hubv1.AgentUpgrade], error) {
	plan := fanout.Plan{
		Waves: r.Msg.GetWaves(), MaxUnavailable: r.Msg.GetMaxUnavailable(), Soak: time.Duration(r.Msg.GetSoakMicros()) * time.Microsecond,
	}
	return s.changed(ctx, func(ctx context.Context, by string) (fanout.Rollout, error) {
		return s.config.Agents.StartUpgrade(ctx, by, r.Msg.GetVersion(), r.Msg.GetImage(), plan)
	})
}

func (s *agents) PauseUpgrade(ctx context.Context, _ *connect.Request[hubv1.PauseUpgradeRequest]) (*connect.Response[hubv1.AgentUpgrade], error) {
	return s.changed(ctx, s.config.Agents.Pause)
}

func (s *agents) ResumeUpgrade(ctx context.Context, _ *connect.Request[hubv1.ResumeUpgradeRequest]) (*connect.Response[hubv1.AgentUpgrade], error) {
	return s.changed(ctx, s.config.Agents.Resume)
}

func (s *agents) AbortUpgrade(ctx context.Context, _ *connect.Request[hubv1.AbortUpgradeRequest]) (*connect.Response[hubv1.AgentUpgrade], error) {
	return s.changed(ctx, s.config.Agents.Abort)
}
