package console

import (
	"context"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/hub/console/management"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/agentkey"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

type sessions struct{ *Server }

func (s *sessions) Setup(ctx context.Context, r *connect.Request[hubv1.SetupRequest]) (*connect.Response[hubv1.CreatedToken], error) {
	made, err := s.config.Accounts.Setup(ctx, r.Msg.GetSetupToken(), r.Msg.GetEmail())
	if err != nil {
		return nil, err
	}
	return createdToken(made), nil
}

func (s *sessions) WhoAmI(ctx context.Context, _ *connect.Request[hubv1.WhoAmIRequest]) (*connect.Response[hubv1.Identity], error) {
	p := caller(ctx)
	return connect.NewResponse(&hubv1.Identity{
		Kind: string(p.Kind), Id: p.ID, Name: p.Name, Admin: p.Admin, TokenId: p.TokenID, Scopes: p.Scopes,
		TokenExpiresAt: p.TokenExpiresAt, HubVersion: s.config.Version,
	}), nil
}

type tokens struct{ *Server }

func token(t identity.Token) *hubv1.Token {
	out := &hubv1.Token{
		Id: t.ID, Kind: string(t.Kind), Name: t.Name, Owner: t.OwnerName, Scopes: t.Scopes,
		CreatedAt: t.CreatedAt, ExpiresAt: t.ExpiresAt, LastUsedAt: t.LastUsedAt, EndsWith: t.EndsWith, MadeBy: t.Origin.MadeBy(),
	}
	if b := t.Bootstrap; b != nil {
		out.Project, out.UsesLeft, out.NamePattern, out.ManagedBy = b.Project, int32(b.UsesLeft), b.NamePattern, management.Out(b.ManagedBy)
		if t.ClusterName != "" {
			out.NamePattern = t.ClusterName
		}
	}
	return out
}

func createdToken(made identity.CreatedToken) *connect.Response[hubv1.CreatedToken] {
	return connect.NewResponse(&hubv1.CreatedToken{Token: token(made.Token), Secret: made.Secret})
}

func (s *tokens) List(ctx context.Context, _ *connect.Request[hubv1.ListTokensRequest]) (*connect.Response[hubv1.ListTokensResponse], error) {
	all, err := s.config.Identity.Tokens(ctx, caller(ctx))
	if err != nil {
		return nil, err
	}
	out := &hubv1.ListTokensResponse{}
	for _, t := range all {
		out.Tokens = append(out.Tokens, token(t))
	}
	return connect.NewResponse(out), nil
}

func (s *tokens) Create(ctx context.Context, r *connect.Request[hubv1.CreateTokenRequest]) (*connect.Response[hubv1.CreatedToken], error) {
	made, err := s.config.Identity.CreateToken(ctx, caller(ctx), identity.TokenRequest{Name: r.Msg.GetName(), Scopes: r.Msg.GetScopes(), Lifetime: micros(r.Msg.GetLifetimeMicros())})
	if err != nil {
		return nil, err
	}
	return createdToken(made), nil
}

func (s *tokens) CreateBootstrap(ctx context.Context, r *connect.Request[hubv1.CreateBootstrapTokenRequest]) (*connect.Response[hubv1.CreatedToken], error) {
	project, err := s.project(ctx, r.Msg.GetProject())
	if err != nil {
		return nil, err
	}
	if r.Msg.GetApproved() {
		// This needs the same permission as approving the clusters one by one.
		if err := s.config.Identity.Authorize(ctx, caller(ctx), access[hubv1connect.ClustersApproveProcedure], identity.Scope{}); err != nil {
			return nil, errcode.New(errcode.Forbidden, "approved: %w", err)
		}
	}
	made, err := s.config.AgentKeys.CreateBootstrapToken(ctx, caller(ctx), agentkey.BootstrapRequest{
		ProjectID: project.ID, Project: project.Name, NamePattern: r.Msg.GetNamePattern(), AllowedTags: r.Msg.GetAllowedTags(),
		MaxUses: int(r.Msg.GetMaxUses()), Lifetime: micros(r.Msg.GetLifetimeMicros()), Approved: r.Msg.GetApproved(),
		FleetWide: s.fleetWide(ctx),
	})
	if err != nil {
		return nil, err
	}
	return createdToken(made), nil
}

func (s *tokens) Revoke(ctx context.Context, r *connect.Request[hubv1.RevokeTokenRequest]) (*connect.Response[hubv1.RevokeTokenResponse], error) {
	return connect.NewResponse(&hubv1.RevokeTokenResponse{}), s.config.Identity.RevokeToken(ctx, caller(ctx), r.Msg.GetId())
}

type events struct{ *Server }

func (s *events) List(ctx context.Context, r *connect.Request[hubv1.ListEventsRequest]) (*connect.Response[hubv1.ListEventsResponse], error) {
	var cluster, service string
	if r.Msg.GetCluster() != "" {
		c, err := s.config.Fleet.ClusterNamed(ctx, r.Msg.GetCluster())
		if err != nil {
			return nil, err
		}
		cluster = c.ID
	}
	if name := r.Msg.GetService(); name != "" {
		v, err := s.config.Fleet.Service(ctx, ref(&hubv1.ServiceRef{Cluster: r.Msg.GetCluster(), Name: name}))
		if err != nil {
			return nil, err
		}
		service = v.ID
	}
	reach, err := s.readable(ctx)
	if err != nil {
		return nil, err
	}
	entries, err := s.config.Events(ctx, cluster, service, r.Msg.GetAfter(), int(r.Msg.GetLimit()), reach)
	if err != nil {
		return nil, err
	}
	out := &hubv1.ListEventsResponse{}
	for _, e := range entries {
		out.Events = append(out.Events, &hubv1.Event{Id: e.ID, At: e.At, Kind: e.Kind, Object: e.Object, By: e.By, Message: e.Message, Cluster: e.Cluster, Service: e.Service})
	}
	return connect.NewResponse(out), nil
}

type hub struct{ *Server }

func (s *hub) Status(ctx context.Context, r *connect.Request[hubv1.HubStatusRequest]) (*connect.Response[hubv1.HubStatus], error) {
	life, err := s.config.Lives.Incarnation(ctx)
	if err != nil {
		return nil, err
	}
	out := &hubv1.HubStatus{
		Version: s.config.Version, Incarnation: life.ID, Sequence: s.config.Feed.Position().Sequence, Database: s.config.Database,
		DeletesHeld: !life.Confirmed, StartedAt: clock.Micros(s.startedAt),
	}
	if !life.Confirmed {
		out.RestoredFrom = life.ParentID
	}
	backups, err := s.config.Backups.Status(ctx)
	if err != nil {
		return nil, err
	}
	if backups.To != "" {
		out.Backups = &hubv1.Backups{
			To: backups.To, Schedule: backups.Cron, DueAt: clock.Micros(backups.Due), RunningSince: backups.Running,
			LastName: backups.Name, LastAt: backups.At, LastBytes: backups.Bytes, FailedAt: backups.Failed, Failure: backups.Failure,
		}
	}
	if s.config.Replicas != nil {
		replicas, err := s.config.Replicas(ctx)
		if err != nil {
			return nil, err
		}
		for _, r := range replicas {
			out.Replicas = append(out.Replicas, replica(r))
		}
		for _, r := range out.GetReplicas() {
			if r.GetIncarnation() == life.ID {
				out.FeedSequence = max(out.GetFeedSequence(), r.GetSequence())
			}
		}
	}
	return connect.NewResponse(out), nil
}

// AtRisk lists what is older than a rule that would refuse it today.
func (s *hub) AtRisk(ctx context.Context, r *connect.Request[hubv1.AtRiskRequest]) (*connect.Response[hubv1.AtRiskResponse], error) {
	first, err := s.risks(ctx)
	if err != nil {
		return nil, err
	}
	risks, total, err := s.config.AtRisk(ctx, int(r.Msg.GetLimit()))
	if err != nil {
		return nil, err
	}
	out := &hubv1.AtRiskResponse{Total: int32(total + len(first)), Risks: first}
	for _, v := range risks {
		out.Risks = append(out.Risks, riskOf(v))
	}
	if limit := int(r.Msg.GetLimit()); limit > 0 {
		out.Risks = out.Risks[:min(limit, len(out.Risks))]
	}
	return connect.NewResponse(out), nil
}

func replica(r Replica) *hubv1.Replica {
	return &hubv1.Replica{
		Name: r.Name, Url: r.URL, Version: r.Version, SeenAt: clock.Micros(r.SeenAt), StartedAt: clock.Micros(r.StartedAt),
		Repositories: int32(r.Repositories), Alive: r.Alive, Draining: r.Leaving || !r.DrainingUntil.IsZero(), DrainingUntil: clock.Micros(r.DrainingUntil), Leaving: r.Leaving,
		Incarnation: r.Position.Incarnation, Sequence: r.Position.Sequence, FeedAgeMicros: r.FeedAge.Microseconds(),
		DiskFree: r.DiskFree, DiskTotal: r.DiskTotal,
	}
}

// Drain tells a replica to give up its repositories, or revokes that.
func (s *hub) Drain(ctx context.Context, r *connect.Request[hubv1.DrainRequest]) (*connect.Response[hubv1.DrainResponse], error) {
	if s.Server.config.Drain == nil {
		return nil, errcode.New(errcode.Invalid, "this hub has no replicas to drain")
	}
	return connect.NewResponse(&hubv1.DrainResponse{}), s.Server.config.Drain(ctx, r.Msg.GetReplica(), !r.Msg.GetUndo())
}

// RotateSigningKey creates a new key for signing what agents receive.
func (s *hub) RotateSigningKey(ctx context.Context, _ *connect.Request[hubv1.RotateSigningKeyRequest]) (*connect.Response[hubv1.RotateSigningKeyResponse], error) {
	key, err := s.config.AgentKeys.RotateSigningKey(ctx)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&hubv1.RotateSigningKeyResponse{KeyId: key.ID, SignsFrom: key.SignsFrom}), nil
}

func (s *hub) ConfirmRestore(ctx context.Context, _ *connect.Request[hubv1.ConfirmRestoreRequest]) (*connect.Response[hubv1.ConfirmRestoreResponse], error) {
	life, err := s.config.Lives.ConfirmIncarnation(ctx)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&hubv1.ConfirmRestoreResponse{Incarnation: life.ID}), nil
}
