package console

import (
	"context"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/clusterapi"
	"github.com/axle-cd/axle/hub/console/liveapi"
	"github.com/axle-cd/axle/internal/address"
)

// ListComponents implements hubv1connect.ClustersHandler.
func (s *clusters) ListComponents(ctx context.Context, r *connect.Request[hubv1.ListComponentsRequest]) (*connect.Response[hubv1.ListComponentsResponse], error) {
	all, err := s.config.Made.Components(ctx, r.Msg.GetCluster())
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&hubv1.ListComponentsResponse{Components: components(all)}), nil
}

// InstallComponents implements hubv1connect.ClustersHandler.
func (s *clusters) InstallComponents(ctx context.Context, r *connect.Request[hubv1.InstallComponentsRequest]) (*connect.Response[hubv1.InstallComponentsResponse], error) {
	// What is on the cluster is read as the caller, with the checks and records of kubectl
	// through the hub.
	live := s.live()
	look := func(ctx context.Context, path string) ([]byte, error) {
		c, err := live.Cluster(ctx, r.Msg.GetCluster())
		if err != nil {
			return nil, err
		}
		answer, err := live.Clusters.Do(ctx, liveapi.Query{Caller: caller(ctx), Source: address.Host(r.Peer().Addr), Handle: c.Handle, Path: path, Table: true})
		return answer.Text, err
	}
	plan, err := s.config.Made.Install(ctx, clusterapi.Installation{
		Cluster: r.Msg.GetCluster(), Provider: r.Msg.GetProvider(), Version: r.Msg.GetVersion(), Registry: r.Msg.Registry, Files: r.Msg.GetFiles(), DryRun: r.Msg.GetDryRun(),
	}, look)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&hubv1.InstallComponentsResponse{Components: components(plan)}), nil
}

func components(all []clusterapi.Component) (out []*hubv1.ClusterAPIComponent) {
	for _, c := range all {
		out = append(out, &hubv1.ClusterAPIComponent{
			Name: c.Name, Installed: c.Installed, Available: c.Version, Action: c.Action,
			Service: c.Service, Sync: string(c.View.Sync), Health: string(c.View.Status.Health), Message: c.View.Message,
			Namespace: c.Namespace, SecretName: c.Secret, Registry: c.Registry, Digest: c.Digest, Size: c.Size,
		})
	}
	return out
}
