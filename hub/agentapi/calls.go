package agentapi

import (
	"context"
	"fmt"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/installed"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/agentkey"
	"github.com/axle-cd/axle/internal/address"
	"github.com/axle-cd/axle/internal/bearertoken"
	"github.com/axle-cd/axle/internal/errcode"
)

// maxIDs limits what one call of Services may request; an agent with more
// services makes several calls.
const maxIDs = 500

// calls implements the agents' RPC service.
type calls struct{ *Server }

// Register trades a bootstrap token for an identity. Like Renew it reads the
// database directly, so no view has to catch up.
func (c calls) Register(ctx context.Context, req *connect.Request[agentv1.RegisterRequest]) (*connect.Response[agentv1.RegisterResponse], error) {
	if err := c.register(ctx, bearertoken.Of(req.Header()), req.Peer().Addr); err != nil {
		return nil, err
	}
	m := req.Msg
	out, err := c.config.Keys.Register(ctx, bearertoken.Of(req.Header()), agentkey.Registration{
		PublicKey: m.GetPublicKey(), ClusterUID: m.GetClusterUid(), Name: m.GetName(), Tags: m.GetTags(),
		BootID: m.GetBootId(), AgentVersion: m.GetAgentVersion(), Source: address.Host(req.Peer().Addr), Proof: m.GetProof(),
	})
	c.noteRegistration(ctx, req, out, err)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&agentv1.RegisterResponse{
		ClusterId: out.ClusterID, ClusterName: out.ClusterName,
		DeployToken: out.DeployToken, DeployTokenExpiresAt: out.DeployTokenExpiresAt,
		SigningKeys: keyMessages(out.SigningKeys), Pending: out.Pending,
		SigningKeysSignature: out.Signature.Bytes, SigningKeysSignedBy: out.Signature.KeyID, MoreSignatures: signatureMessages(out.More),
		PollIntervalMicros: c.config.PollInterval.Microseconds(),
	}), nil
}

// Renew trades a signed request for a new deploy token. The signature
// authenticates the agent, whose old token may have expired long ago.
func (c calls) Renew(ctx context.Context, req *connect.Request[agentv1.RenewRequest]) (*connect.Response[agentv1.RenewResponse], error) {
	m := req.Msg
	out, err := c.config.Keys.Renew(ctx, agentkey.Renewal{
		ClusterID: m.GetClusterId(), ClusterUID: m.GetClusterUid(), BootID: m.GetBootId(),
		At: m.GetAt(), Nonce: m.GetNonce(), Signature: m.GetSignature(),
	})
	c.noteRenewal(ctx, req, err)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&agentv1.RenewResponse{
		DeployToken: out.DeployToken, DeployTokenExpiresAt: out.DeployTokenExpiresAt,
		SigningKeys:          keyMessages(out.SigningKeys),
		SigningKeysSignature: out.Signature.Bytes, SigningKeysSignedBy: out.Signature.KeyID,
		MoreSignatures: signatureMessages(out.More),
	}), nil
}

// Services returns specs with their secrets.
func (c calls) Services(ctx context.Context, req *connect.Request[agentv1.ServicesRequest]) (*connect.Response[agentv1.ServicesResponse], error) {
	p, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	ids := req.Msg.GetIds()
	if len(ids) > maxIDs {
		return nil, errcode.New(errcode.Invalid, "%d services were requested at once; request at most %d", len(ids), maxIDs)
	}
	pending, err := c.config.Desired.Pending(p.ID)
	if err != nil {
		return nil, err
	}
	if pending {
		return nil, errcode.New(errcode.Forbidden, "cluster %s waits for a person's approval and gets no services yet", p.Name)
	}
	// Read the position before the specs, so that they are at least as new.
	at := c.config.Feed.Position()
	specs, missing, err := c.config.Fleet.AgentSpecs(ctx, p.ID, ids)
	if err != nil {
		return nil, err
	}
	previews, err := c.config.Previews.Pending(ctx, p.ID, specs)
	if err != nil {
		return nil, err
	}
	out := &agentv1.ServicesResponse{Missing: missing, Position: positionMessage(at)}
	for _, spec := range specs {
		one := specMessage(spec)
		one.Previews = previewMessages(previews[one.GetId()])
		out.Services = append(out.Services, one)
	}
	if req.Msg.GetSigned() {
		out.ClusterId = p.ID
		if out, err = c.signSpecs(ctx, out); err != nil {
			return nil, err
		}
	}
	resp := connect.NewResponse(out)
	// The header must not be newer than what is signed, or the agent takes the
	// specs for older than what it has seen.
	c.position.set(resp.Header(), c.config.Feed, at, "")
	return resp, nil
}

// specsPrefix separates signatures of specs from signatures of anything else.
const specsPrefix = "axle-services\n"

func (c calls) signSpecs(ctx context.Context, m *agentv1.ServicesResponse) (*agentv1.ServicesResponse, error) {
	inner, err := proto.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode specs: %w", err)
	}
	signature, err := c.config.Keys.Sign(ctx, append([]byte(specsPrefix), inner...))
	if err != nil {
		return nil, err
	}
	return &agentv1.ServicesResponse{Signed: inner, Signature: signature.Bytes, KeyId: signature.KeyID}, nil
}

// Ping stores what the agent knows about its cluster.
func (c calls) Ping(ctx context.Context, req *connect.Request[agentv1.PingRequest]) (*connect.Response[agentv1.PingResponse], error) {
	p, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	m := req.Msg
	if err := c.config.Keys.CheckBoot(ctx, p.ID, m.GetBootId()); err != nil {
		return nil, err
	}
	err = c.config.Fleet.Ping(ctx, p.ID, fleet.ClusterPing{
		AgentVersion: m.GetAgentVersion(), KubernetesVersion: m.GetKubernetesVersion(), Distro: m.GetDistro(),
		Nodes: int(m.GetNodes()), PollInterval: m.GetPollIntervalMicros(),
		Installation: installation(m.GetInstallation()),
	})
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&agentv1.PingResponse{}), nil
}

// The limits of what an agent reports about its installation.
const (
	maxArgs  = 100
	maxImage = 1 << 10
)

// installation returns the zero value for an unusable installation.
func installation(m *agentv1.Installation) installed.Agent {
	if m == nil || len(m.GetArgs()) > maxArgs || len(m.GetImage()) > maxImage || len(m.GetNamespace()) > 63 {
		return installed.Agent{}
	}
	return installed.Agent{Namespace: m.GetNamespace(), Image: m.GetImage(), Args: m.GetArgs()}
}

func caller(ctx context.Context) (identity.Principal, error) {
	p, ok := identity.FromContext(ctx)
	if !ok {
		return p, errcode.New(errcode.Internal, "a call of an agent arrived without its caller")
	}
	return p, nil
}

func keyMessages(keys []agentkey.SigningKey) []*agentv1.SigningKey {
	out := make([]*agentv1.SigningKey, 0, len(keys))
	for _, k := range keys {
		out = append(out, &agentv1.SigningKey{Id: k.ID, PublicKey: k.PublicKey})
	}
	return out
}

func signatureMessages(all []agentkey.Signature) []*agentv1.KeySignature {
	out := make([]*agentv1.KeySignature, 0, len(all))
	for _, s := range all {
		out = append(out, &agentv1.KeySignature{KeyId: s.KeyID, Signature: s.Bytes})
	}
	return out
}

func positionMessage(p event.Position) *agentv1.Position {
	return &agentv1.Position{Incarnation: p.Incarnation, Sequence: p.Sequence}
}
