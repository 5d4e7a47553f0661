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
	"github.com/axle-cd/axle/internal/address"
	"github.com/axle-cd/axle/internal/errcode"
)

// Children connects the clusters that services make; *clusterapi.Clusters implements it.
type Children interface {
	Enroll(ctx context.Context, managementID, serviceID string) (clusterapi.Child, error)
}

// childPrefix separates signatures of children from signatures of anything else.
const childPrefix = "axle-child\n"

// EnrollChild connects a cluster that a service of the caller's makes.
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
	child, err := c.enroll(ctx, p, req.Msg.GetServiceId())
	c.noteChild(ctx, req, p, child, err)
	if err != nil {
		return nil, err
	}
	text, err := proto.Marshal(&agentv1.Child{
		ClusterId: p.ID, ServiceId: req.Msg.GetServiceId(), Name: child.Name, Manifests: child.Manifests, ExpiresAt: child.ExpiresAt,
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

func (c calls) enroll(ctx context.Context, p identity.Principal, serviceID string) (clusterapi.Child, error) {
	pending, err := c.config.Desired.Pending(p.ID)
	if err != nil {
		return clusterapi.Child{}, err
	}
	if pending {
		return clusterapi.Child{}, errcode.New(errcode.Forbidden, "cluster %s waits for a person's approval and connects no clusters yet", p.Name)
	}
	return c.config.Children.Enroll(ctx, p.ID, serviceID)
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
