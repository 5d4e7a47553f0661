// Package agentsapi serves the API calls about upgrades of agents. hub/console authorizes
// the callers and registers it; hub/fanout does the work.
package agentsapi

import (
	"context"
	"time"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/hub/console/management"
	"github.com/axle-cd/axle/hub/fanout"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
)

// Upgrades moves agents to another version; hub/fanout implements it.
type Upgrades interface {
	StartUpgrade(ctx context.Context, by, version, image string, plan fanout.Plan) (fanout.Rollout, error)
	Latest(ctx context.Context) (fanout.Rollout, []fanout.Target, error)
	Pause(ctx context.Context, by string) (fanout.Rollout, error)
	Resume(ctx context.Context, by string) (fanout.Rollout, error)
	Abort(ctx context.Context, by string) (fanout.Rollout, error)
}

// API implements the calls. All fields are required.
type API struct {
	Upgrades Upgrades
	// Builtins returns the state of a service of the hub's own on all clusters.
	Builtins func(ctx context.Context, name string, clusterIDs []string) ([]fleet.BuiltinState, error)
	// Readable returns what the caller may read, and By who they are.
	Readable func(ctx context.Context) (identity.Reach, error)
	By       func(ctx context.Context) string
	// Version of the hub.
	Version string
}

var _ hubv1connect.AgentsHandler = (*API)(nil)

// answer returns the last upgrade as it is stored.
func (s *API) answer(ctx context.Context) (*connect.Response[hubv1.AgentUpgrade], error) {
	r, targets, err := s.Upgrades.Latest(ctx)
	if errcode.Is(err, errcode.NotFound) {
		return connect.NewResponse(&hubv1.AgentUpgrade{HubVersion: s.Version}), nil
	}
	if err != nil {
		return nil, err
	}
	states, err := s.Builtins(ctx, fanout.AgentService, nil)
	if err != nil {
		return nil, err
	}
	reach, err := s.Readable(ctx)
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
		Message: r.Message, By: r.By, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, HubVersion: s.Version, ManagedBy: management.Out(r.ManagedBy),
	}
	if !reach.All() {
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
func (s *API) changed(ctx context.Context, change func(ctx context.Context, by string) (fanout.Rollout, error)) (*connect.Response[hubv1.AgentUpgrade], error) {
	if _, err := change(ctx, s.By(ctx)); err != nil {
		return nil, err
	}
	return s.answer(ctx)
}

// UpgradeStatus implements hubv1connect.AgentsHandler.
func (s *API) UpgradeStatus(ctx context.Context, _ *connect.Request[hubv1.UpgradeStatusRequest]) (*connect.Response[hubv1.AgentUpgrade], error) {
	return s.answer(ctx)
}

// StartUpgrade implements hubv1connect.AgentsHandler.
func (s *API) StartUpgrade(ctx context.Context, r *connect.Request[hubv1.StartUpgradeRequest]) (*connect.Response[hubv1.AgentUpgrade], error) {
	plan := fanout.Plan{
		Waves: r.Msg.GetWaves(), MaxUnavailable: r.Msg.GetMaxUnavailable(), Soak: time.Duration(r.Msg.GetSoakMicros()) * time.Microsecond,
	}
	return s.changed(ctx, func(ctx context.Context, by string) (fanout.Rollout, error) {
		return s.Upgrades.StartUpgrade(ctx, by, r.Msg.GetVersion(), r.Msg.GetImage(), plan)
	})
}

// PauseUpgrade implements hubv1connect.AgentsHandler.
func (s *API) PauseUpgrade(ctx context.Context, _ *connect.Request[hubv1.PauseUpgradeRequest]) (*connect.Response[hubv1.AgentUpgrade], error) {
	return s.changed(ctx, s.Upgrades.Pause)
}

// ResumeUpgrade implements hubv1connect.AgentsHandler.
func (s *API) ResumeUpgrade(ctx context.Context, _ *connect.Request[hubv1.ResumeUpgradeRequest]) (*connect.Response[hubv1.AgentUpgrade], error) {
	return s.changed(ctx, s.Upgrades.Resume)
}

// AbortUpgrade implements hubv1connect.AgentsHandler.
func (s *API) AbortUpgrade(ctx context.Context, _ *connect.Request[hubv1.AbortUpgradeRequest]) (*connect.Response[hubv1.AgentUpgrade], error) {
	return s.changed(ctx, s.Upgrades.Abort)
}
