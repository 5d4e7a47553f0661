package console

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/clusterapi"
	"github.com/axle-cd/axle/hub/console/credentialapi"
	"github.com/axle-cd/axle/hub/console/enrollment"
	"github.com/axle-cd/axle/hub/console/fleetapi"
	"github.com/axle-cd/axle/hub/console/management"
	"github.com/axle-cd/axle/hub/console/readinessapi"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/identity/agentkey"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/internal/errcode"
)

// clusters are the calls about clusters; lists finds those of a page in the index.
type clusters struct {
	*Server
	lists *fleetapi.API
	*readinessapi.API
	*credentialapi.Credentials
}

// off is the tunnel of a cluster that has no agent yet.
const off = "Off"

func (s *Server) cluster(v fleet.ClusterView) *hubv1.Cluster {
	tunnel, since := off, int64(0)
	if v.Registered() && s.config.Tunnels != nil {
		tunnel, since = s.config.Tunnels.State(v.ID)
	}
	return &hubv1.Cluster{
		Id: v.ID, Name: v.Name, Handle: v.Handle, Project: v.Project, Tags: v.Tags, UncountedTags: v.UncountedTags(), Metadata: v.Metadata,
		Distro: v.Distro, KubernetesVersion: v.KubernetesVersion, AgentVersion: v.AgentVersion, Nodes: int32(v.Nodes),
		Registered: v.Registered(), Pending: v.Pending, Freshness: string(v.Freshness), PolledAt: v.PolledAt, PingedAt: v.PingedAt, CreatedAt: v.CreatedAt,
		Services: int32(v.Services), ServicesHealthy: int32(v.ServicesHealthy), ServicesFailed: int32(v.ServicesFailed),
		PollIntervalMicros: v.PollInterval, Tunnel: tunnel, TunnelSince: since, Message: v.Message, ManagedBy: management.Out(v.ManagedBy),
		Origin: origin(v),
	}
}

func (s *clusters) List(ctx context.Context, r *connect.Request[hubv1.ListClustersRequest]) (*connect.Response[hubv1.ListClustersResponse], error) {
	reach, err := s.readable(ctx)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(managed.Filter(r.Msg.GetManagedByTool()), s.exists(ctx, r.Msg.GetProject(), "")); err != nil {
		return nil, err
	}
	at := s.config.Feed.Position()
	if r.Msg.GetPageSize() > 0 || len(r.Msg.GetFreshness()) > 0 {
		out, err := s.lists.ClusterPage(ctx, r.Msg, reach)
		if err != nil {
			return nil, err
		}
		out.ResumeToken = at.String()
		return connect.NewResponse(out), nil
	}
	all, err := s.config.Fleet.Clusters(ctx, fleet.ClusterFilter{Project: r.Msg.GetProject(), Tags: r.Msg.GetTags(), Reach: &reach})
	if err != nil {
		return nil, err
	}
	out := &hubv1.ListClustersResponse{ResumeToken: at.String()}
	for _, v := range all {
		if v.ManagedBy.Selects(r.Msg.GetManagedByTool()) {
			out.Clusters = append(out.Clusters, s.cluster(v))
		}
	}
	return connect.NewResponse(out), nil
}

// answer reads a cluster again, so that an answer shows what is stored.
func (s *clusters) answer(ctx context.Context, name string) (*connect.Response[hubv1.Cluster], error) {
	v, err := s.config.Fleet.Cluster(ctx, name)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(s.cluster(v)), nil
}

// Get also shows the services that a cluster has and the hub does not.
func (s *clusters) Get(ctx context.Context, r *connect.Request[hubv1.GetClusterRequest]) (*connect.Response[hubv1.Cluster], error) {
	v, err := s.config.Fleet.Cluster(ctx, r.Msg.GetName())
	if err != nil {
		return nil, err
	}
	all, text, err := s.config.Fleet.OrphansOf(ctx, v.Cluster)
	if err != nil {
		return nil, err
	}
	out := s.cluster(v)
	if text != "" {
		out.Message = strings.TrimPrefix(out.GetMessage()+"; "+text, "; ")
	}
	for _, o := range all {
		out.Orphans = append(out.Orphans, &hubv1.OrphanedService{Id: o.ServiceID, Message: o.Message, ReportedAt: o.ReportedAt})
	}
	return connect.NewResponse(out), nil
}

// SettleOrphan removes such a service, or leaves its objects to nobody.
func (s *clusters) SettleOrphan(ctx context.Context, r *connect.Request[hubv1.SettleOrphanRequest]) (*connect.Response[hubv1.SettleOrphanResponse], error) {
	leaves, err := s.config.Fleet.SettleOrphan(ctx, caller(ctx).By(), r.Msg.GetName(), r.Msg.GetServiceId(), r.Msg.GetKeep())
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&hubv1.SettleOrphanResponse{Service: leaves.Ref().String()}), nil
}

func (s *clusters) Create(ctx context.Context, r *connect.Request[hubv1.CreateClusterRequest]) (*connect.Response[hubv1.CreateClusterResponse], error) {
	if err := s.config.Identity.Proved(ctx, caller(ctx)); err != nil {
		return nil, err // before there is a cluster without a token
	}
	have, err := s.config.Fleet.Cluster(ctx, r.Msg.GetName())
	wanted := fleet.NewCluster{
		Name: r.Msg.GetName(), Handle: r.Msg.GetHandle(), Project: r.Msg.GetProject(), Tags: r.Msg.GetTags(), Metadata: r.Msg.GetMetadata(), FleetWide: s.fleetWide(ctx),
	}
	switch from := r.Msg.GetFromTemplate(); {
	case errcode.Is(err, errcode.NotFound) && from != nil:
		return s.make(ctx, wanted, from)
	case errcode.Is(err, errcode.NotFound):
		_, err = s.config.Fleet.CreateCluster(ctx, caller(ctx).By(), wanted)
	case err == nil && from != nil:
		err = errcode.New(errcode.Conflict, "cluster %q exists; choose another name", have.Name)
	case err == nil && !r.Msg.GetRenewToken():
		err = errcode.New(errcode.Conflict, "cluster %q exists; choose another name, or ask for a new token for it (axle clusters create --renew-token)", have.Name)
	case err == nil && have.Registered() && have.Freshness == fleet.Fresh:
		err = errcode.New(errcode.Conflict, "cluster %q has an agent that polls; delete the cluster first, or choose another name", have.Name)
	}
	if err != nil {
		return nil, err
	}
	if have, err = s.config.Fleet.Cluster(ctx, r.Msg.GetName()); err != nil {
		return nil, err
	}
	made, err := s.config.AgentKeys.CreateBootstrapToken(ctx, caller(ctx), agentkey.BootstrapRequest{
		ProjectID: have.ProjectID, Project: have.Project, ClusterID: have.ID, ClusterName: have.Name, MaxUses: 1, FleetWide: s.fleetWide(ctx), Replaces: r.Msg.GetRenewToken() && !have.Registered(),
	})
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&hubv1.CreateClusterResponse{
		Cluster: s.cluster(have), BootstrapToken: made.Secret, BootstrapExpiresAt: made.ExpiresAt, HubUrl: s.config.AgentsURL, CaPem: s.config.CAPEM,
	}), nil
}

// make makes a cluster from a template. An agent has nothing to run on yet, so there is no
// token: one is made once the cluster is up (renew_token).
func (s *clusters) make(ctx context.Context, wanted fleet.NewCluster, from *hubv1.FromTemplate) (*connect.Response[hubv1.CreateClusterResponse], error) {
	made, err := s.config.Made.Create(ctx, caller(ctx).By(), clusterapi.Request{
		NewCluster: wanted, Template: from.GetTemplate(), Management: from.GetManagementCluster(),
		Wish: clusterapi.Wish{Variables: from.GetVariables(), Texts: from.GetSet()},
	})
	if err != nil {
		return nil, err
	}
	v, err := s.config.Fleet.Cluster(ctx, made.Name)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&hubv1.CreateClusterResponse{Cluster: s.cluster(v)}), nil
}

// Destroy removes the machines of a cluster that was made from a template.
func (s *clusters) Destroy(ctx context.Context, r *connect.Request[hubv1.DestroyClusterRequest]) (*connect.Response[hubv1.Cluster], error) {
	have, err := s.config.Fleet.ClusterNamed(ctx, r.Msg.GetName())
	if err == nil {
		err = s.unused(ctx, have)
	}
	if err != nil {
		return nil, err
	}
	if _, err := s.config.Fleet.DestroyCluster(ctx, caller(ctx).By(), have.Name, r.Msg.GetForce()); err != nil {
		return nil, err
	}
	return s.answer(ctx, have.Name)
}

// unused returns Conflict for a cluster that an object names, such as a cluster template.
func (s *clusters) unused(ctx context.Context, c fleet.Cluster) error {
	return s.config.Objects.Unused(ctx, "cluster "+c.Name, c.ID)
}

func (s *clusters) Update(ctx context.Context, r *connect.Request[hubv1.UpdateClusterRequest]) (*connect.Response[hubv1.Cluster], error) {
	change := fleet.ClusterChange{FleetWide: s.fleetWide(ctx)}
	if handle := r.Msg.GetHandle(); handle != "" {
		change.Handle = &handle
	}
	if tags := r.Msg.GetTags(); r.Msg.GetSetTags() {
		change.Tags = &tags
	}
	if metadata := r.Msg.GetMetadata(); r.Msg.GetSetMetadata() {
		change.Metadata = &metadata
	}
	wish := clusterapi.Wish{Variables: r.Msg.GetVariables(), Texts: r.Msg.GetSet()}
	if p := r.Msg.GetPool(); p != nil {
		wish.Pool = &clusterapi.PoolSize{Name: p.GetName(), Replicas: p.Replicas, Min: p.Min, Max: p.Max}
	}
	return s.changed(ctx, r.Msg.GetName(), r.Msg.GetDryRun(), func(also func(context.Context) error) error {
		return s.config.Made.Change(ctx, caller(ctx).By(), r.Msg.GetName(), wish, func(ctx context.Context) error {
			if _, err := s.config.Fleet.UpdateCluster(ctx, caller(ctx).By(), r.Msg.GetName(), change); err != nil {
				return err
			}
			return also(ctx)
		})
	})
}

// ReplaceMachine removes one machine of a node pool, in place of which another is made.
func (s *clusters) ReplaceMachine(ctx context.Context, r *connect.Request[hubv1.ReplaceMachineRequest]) (*connect.Response[hubv1.Cluster], error) {
	return s.changed(ctx, r.Msg.GetName(), r.Msg.GetDryRun(), func(also func(context.Context) error) error {
		return s.config.Made.Replace(ctx, caller(ctx).By(), r.Msg.GetName(), r.Msg.GetMachine(), r.Msg.GetUid(), also)
	})
}

// changed answers with a cluster after a change. The change calls a function last in its
// transaction, which rolls a dry run back.
func (s *clusters) changed(ctx context.Context, name string, dryRun bool, change func(also func(context.Context) error) error) (*connect.Response[hubv1.Cluster], error) {
	var answer *connect.Response[hubv1.Cluster]
	err := change(func(ctx context.Context) (err error) {
		if !dryRun {
			return nil
		}
		if answer, err = s.answer(ctx, name); err == nil {
			err = errDryRun
		}
		return err
	})
	if errors.Is(err, errDryRun) {
		return answer, nil
	}
	if err != nil {
		return nil, err
	}
	return s.answer(ctx, name)
}

// errDryRun rolls back a transaction whose result was only requested.
var errDryRun = errors.New("dry run")

func (s *clusters) Approve(ctx context.Context, r *connect.Request[hubv1.ApproveClusterRequest]) (*connect.Response[hubv1.Cluster], error) {
	if _, err := s.config.Fleet.ApproveCluster(ctx, caller(ctx).By(), r.Msg.GetName()); err != nil {
		return nil, err
	}
	return s.answer(ctx, r.Msg.GetName())
}

// Enrollment tells how far a new cluster's agent has come.
func (s *clusters) Enrollment(ctx context.Context, r *connect.Request[hubv1.EnrollmentRequest]) (*connect.Response[hubv1.EnrollmentResponse], error) {
	v, err := s.config.Fleet.Cluster(ctx, r.Msg.GetName())
	if err != nil {
		return nil, err
	}
	k := enrollment.Known{Cluster: v, Tunnel: off, HubURL: s.config.AgentsURL, Now: s.config.Clock.Now()}
	if k.Admission, err = s.config.AgentKeys.Admission(ctx, v.ID); err != nil {
		return nil, err
	}
	if v.Registered() && s.config.Tunnels != nil {
		k.Tunnel, k.TunnelSince = s.config.Tunnels.State(v.ID)
	}
	page, err := s.config.Fleet.Services(ctx, fleet.ServiceFilter{Cluster: v.Name, PageSize: enrollment.Looked})
	if err != nil {
		return nil, err
	}
	for _, service := range page.Services {
		for _, problem := range service.Status.Errors {
			k.Refuse(service.Ref().String(), problem.Message)
		}
	}
	return connect.NewResponse(enrollment.Steps(k)), nil
}

// Delete deletes a cluster and its credentials in one transaction: a key that
// outlived its cluster would prevent its agent from registering again.
func (s *clusters) Delete(ctx context.Context, r *connect.Request[hubv1.DeleteClusterRequest]) (*connect.Response[hubv1.DeleteClusterResponse], error) {
	have, err := s.config.Fleet.Cluster(ctx, r.Msg.GetName())
	if err != nil {
		return nil, err
	}
	err = s.config.AgentKeys.RevokeClusterWith(ctx, have.ID, func(ctx context.Context) error {
		if err := s.unused(ctx, have.Cluster); err != nil {
			return err
		}
		return s.config.Fleet.DeleteCluster(ctx, caller(ctx).By(), have.Name, r.Msg.GetDetach())
	})
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&hubv1.DeleteClusterResponse{}), nil
}
