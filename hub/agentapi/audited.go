package agentapi

import (
	"context"

	"connectrpc.com/connect"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/agentkey"
	"github.com/axle-cd/axle/internal/address"
	"github.com/axle-cd/axle/internal/bearertoken"
	"github.com/axle-cd/axle/internal/bootstrap"
	"github.com/axle-cd/axle/internal/errcode"
)

// noteRegistration records that an agent registered, or failed to, and with
// which bootstrap token. An unknown token leaves no record, because anybody can
// send one.
func (c calls) noteRegistration(ctx context.Context, req *connect.Request[agentv1.RegisterRequest], out agentkey.Registered, err error) {
	if c.config.Audit == nil {
		return
	}
	token, terr := c.config.Identity.Authenticate(ctx, bootstrap.Secret(bearertoken.Of(req.Header())))
	if err != nil && terr != nil {
		return
	}
	m := req.Msg
	r := audit.Record{
		Actor: "agent of " + m.GetName(), ActorKind: string(identity.KindBootstrap), ActorID: token.ID, TokenID: token.TokenID,
		Source: address.Host(req.Peer().Addr), Action: req.Spec().Procedure, Kind: "cluster", Name: m.GetName(), Result: audit.ResultOK,
		Detail: map[string]string{"cluster_uid": m.GetClusterUid(), "agent_version": m.GetAgentVersion()},
	}
	for key, value := range m.GetTags() {
		r.Detail["tag "+key] = value
	}
	if err != nil {
		r.Result, r.Detail["error"] = string(errcode.Of(err)), errcode.Message(err)
	} else {
		r.Actor, r.ClusterID, r.Name = "agent of "+out.ClusterName, out.ClusterID, out.ClusterName
		if out.Pending {
			r.Detail["pending"] = "true"
		}
	}
	c.config.Audit.Add(ctx, r)
}

// noteRenewal records that a second agent used an identity that is in use.
func (c calls) noteRenewal(ctx context.Context, req *connect.Request[agentv1.RenewRequest], err error) {
	if c.config.Audit == nil || !errcode.Is(err, errcode.Conflict) {
		return
	}
	m := req.Msg
	c.config.Audit.Add(ctx, audit.Record{
		Actor: "agent", ActorKind: string(identity.KindCluster), ActorID: m.GetClusterId(), Source: address.Host(req.Peer().Addr),
		Action: req.Spec().Procedure, ClusterID: m.GetClusterId(), Kind: "cluster", Name: m.GetClusterId(), Result: string(errcode.Conflict),
		Detail: map[string]string{"error": errcode.Message(err), "cluster_uid": m.GetClusterUid(), "boot_id": m.GetBootId()},
	})
}
