package agentapi

import (
	"context"
	"fmt"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/clusterapi"
	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/agentkey"
	"github.com/axle-cd/axle/internal/address"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/plain"
)

// Children connects clusters of Cluster API; *clusterapi.Clusters implements it.
type Children interface {
	Enroll(ctx context.Context, managementID, serviceID string) (clusterapi.Child, error)
	// Manifests are the agent's objects with a token.
	Manifests(token string) (string, error)
}

// maxUID limits the uid of a Cluster object, in bytes.
const maxUID = 100

// childPrefix separates signatures of children from signatures of anything else.
const childPrefix = "axle-child\n"

// EnrollChild connects a cluster that a service of the caller's makes, or that it found.
func (c calls) EnrollChild(ctx context.Context, req *connect.Request[agentv1.EnrollChildRequest]) (*connect.Response[agentv1.EnrollChildResponse], error) {
	p, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.config.Keys.CheckBoot(ctx, p.ID, req.Msg.GetBootId()); err != nil {
		return nil, err
	}
	if err := c.registrations.children.Take(c.sharing(p)); err != nil {
		return nil, err
	}
	child, err := c.enroll(ctx, p, req.Msg)
	c.noteChild(ctx, req, p, child, err)
	if err != nil {
		return nil, err
	}
	text, err := proto.Marshal(&agentv1.Child{
		ClusterId: p.ID, ServiceId: req.Msg.GetServiceId(), Uid: req.Msg.GetFound().GetUid(), Id: child.ID, Name: child.Name, Manifests: child.Manifests, ExpiresAt: child.ExpiresAt,
	})
	if err != nil {
		return nil, fmt.Errorf("encode a child: %w", err)
	}
	signature, err := c.config.Keys.Sign(ctx, append([]byte(childPrefix), text...))
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&agentv1.EnrollChildResponse{Child: text, Signature: signature.Bytes, KeyId: signature.KeyID}), nil
}

func (c calls) enroll(ctx context.Context, p identity.Principal, m *agentv1.EnrollChildRequest) (clusterapi.Child, error) {
	pending, err := c.config.Desired.Pending(p.ID)
	if err != nil {
		return clusterapi.Child{}, err
	}
	if pending {
		return clusterapi.Child{}, errcode.New(errcode.Forbidden, "cluster %s waits for a person's approval and connects no clusters yet", p.Name)
	}
	if m.GetFound() != nil {
		return c.found(ctx, p, m.GetFound())
	}
	return c.config.Children.Enroll(ctx, p.ID, m.GetServiceId())
}

// found connects a cluster that others made, as far as its bootstrap token allows.
func (c calls) found(ctx context.Context, p identity.Principal, m *agentv1.FoundCluster) (child clusterapi.Child, err error) {
	child.Name = plain.Line(m.GetName(), maxUID)
	if m.GetUid() == "" || len(m.GetUid()) > maxUID {
		return child, errcode.New(errcode.Invalid, "uid: is that of the Cluster object")
	}
	row, token, err := c.config.Keys.Trade(ctx, m.GetBootstrapToken(), agentkey.Finding{
		ManagementID: p.ID, Management: p.Name, UID: m.GetUid(), Name: m.GetName(), Handle: m.GetHandle(), Tags: m.GetTags(),
	})
	if err != nil {
		return child, err
	}
	child.ID, child.Name, child.ExpiresAt = row.ClusterID, row.Name, token.ExpiresAt
	child.Manifests, err = c.config.Children.Manifests(token.Secret)
	return child, err
}

// noteChild records that a management cluster connected a cluster, or was refused.
func (c calls) noteChild(ctx context.Context, req *connect.Request[agentv1.EnrollChildRequest], p identity.Principal, child clusterapi.Child, err error) {
	if c.config.Audit == nil {
		return
	}
	r := audit.Record{
		Actor: "agent of " + p.Name, ActorKind: string(identity.KindCluster), ActorID: p.ID, Source: address.Host(req.Peer().Addr),
		Action: req.Spec().Procedure, ClusterID: child.ID, Kind: "cluster", Name: child.Name, Result: audit.ResultOK,
		Detail: map[string]string{"management_cluster": p.Name, "service_id": req.Msg.GetServiceId()},
	}
	if f := req.Msg.GetFound(); f != nil {
		delete(r.Detail, "service_id")
		r.Detail["uid"] = plain.Line(f.GetUid(), maxUID)
	}
	if err != nil {
		r.Result, r.Detail["error"] = string(errcode.Of(err)), errcode.Message(err)
	}
	c.config.Audit.Add(ctx, r)
}

// ReportChildren stores the state of clusters that services of the caller's make.
func (c calls) ReportChildren(ctx context.Context, req *connect.Request[agentv1.ReportChildrenRequest]) (*connect.Response[agentv1.ReportChildrenResponse], error) {
	p, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.config.Keys.CheckBoot(ctx, p.ID, req.Msg.GetBootId()); err != nil {
		return nil, err
	}
	states := map[string]fleet.MadeState{}
	for _, m := range req.Msg.GetChildren() {
		states[m.GetServiceId()] = madeState(m)
	}
	if err := c.config.Fleet.StoreMadeStates(ctx, p.ID, states); err != nil {
		return nil, err
	}
	return connect.NewResponse(&agentv1.ReportChildrenResponse{}), nil
}

func madeState(m *agentv1.ChildState) fleet.MadeState {
	s := fleet.MadeState{Phase: m.GetPhase(), ControlPlane: machines(m.GetControlPlane()), Message: m.GetMessage()}
	for _, pool := range m.GetPools() {
		s.Pools = append(s.Pools, machines(pool))
	}
	s.MoreMachines = int(m.GetMoreMachines())
	for _, o := range m.GetMachines() {
		s.Machines = append(s.Machines, fleet.Machine{
			Name: o.GetName(), UID: o.GetUid(), Pool: o.GetPool(), Phase: o.GetPhase(), Node: o.GetNode(), Version: o.GetVersion(), Message: o.GetMessage(), CreatedAt: o.GetCreatedAt(),
		})
	}
	for _, r := range m.GetReplacements() {
		s.Replaced = append(s.Replaced, fleet.Replaced{UID: r.GetUid(), Message: r.GetMessage(), Done: r.GetDone(), Refused: r.GetRefused()})
	}
	for _, c := range m.GetConditions() {
		s.Conditions = append(s.Conditions, fleet.MadeCondition{Type: c.GetType(), Status: c.GetStatus(), Reason: c.GetReason(), Message: c.GetMessage(), Since: c.GetSince()})
	}
	return s
}

func machines(m *agentv1.ChildMachines) fleet.Machines {
	return fleet.Machines{
		Name: m.GetName(), Phase: m.GetPhase(), Desired: int(m.GetDesired()), Ready: int(m.GetReady()), UpToDate: int(m.GetUpToDate()), Versions: m.GetVersions(),
	}
}

// ReportCleanup stores what the caller still holds at providers, while it is being destroyed.
func (c calls) ReportCleanup(ctx context.Context, req *connect.Request[agentv1.ReportCleanupRequest]) (*connect.Response[agentv1.ReportCleanupResponse], error) {
	p, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.config.Keys.CheckBoot(ctx, p.ID, req.Msg.GetBootId()); err != nil {
		return nil, err
	}
	r := fleet.Cleanup{More: int(req.Msg.GetMore()), Message: req.Msg.GetMessage()}
	for _, l := range req.Msg.GetLeft() {
		r.Left = append(r.Left, fleet.Leftover{Kind: l.GetKind(), Namespace: l.GetNamespace(), Name: l.GetName(), Message: l.GetMessage(), Since: l.GetSince()})
	}
	if err := c.config.Fleet.StoreCleanup(ctx, p.ID, r, req.Msg.GetDone()); err != nil {
		return nil, err
	}
	return connect.NewResponse(&agentv1.ReportCleanupResponse{}), nil
}
