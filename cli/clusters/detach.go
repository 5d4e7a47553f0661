package clusters

import (
	"context"
	"fmt"
	"time"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk"
)

// agentService is the service that the hub creates for the agent itself.
const agentService = "axle-agent"

// detachAll has the agent remove its marks from all objects of a cluster before
// the cluster is deleted, since nobody can do it afterwards. It does not wait
// for an agent that is offline.
func detachAll(ctx context.Context, a *command.App, client *sdk.Client, cluster string, wait time.Duration) error {
	known, err := client.Clusters.Get(ctx, connect.NewRequest(&hubv1.GetClusterRequest{Name: cluster}))
	if err != nil {
		return err
	}
	if known.Msg.GetFreshness() != "Fresh" {
		_, err := fmt.Fprintf(a.Err, "the agent of %s is offline: its marks stay on the objects until the cluster is connected again\n", cluster)
		return err
	}
	left, err := ownServices(ctx, client, cluster)
	if err != nil {
		return err
	}
	for _, s := range left {
		if _, err := client.Services.Delete(ctx, connect.NewRequest(&hubv1.DeleteServiceRequest{Ref: &hubv1.ServiceRef{Cluster: cluster, Name: s}, Detach: true})); err != nil && !sdk.IsNotFound(err) {
			return err
		}
	}
	p := a.Begin("waiting for the agent of %s to detach %s", cluster, output.Count(len(left), "service"))
	defer p.End()
	gone, err := a.PollUntil(ctx, wait, func(ctx context.Context) (bool, error) {
		left, err = ownServices(ctx, client, cluster)
		return len(left) == 0, err
	})
	if err == nil && !gone {
		err = errcode.New(errcode.Unavailable, "service %s and %d others of %s are still being detached after %s; axle services get shows what they wait for; run this again, or use --timeout 0 to delete the cluster without waiting",
			left[0], len(left)-1, cluster, wait)
	}
	return err
}

// ownServices names the services of a cluster, except the agent's own.
func ownServices(ctx context.Context, client *sdk.Client, cluster string) (names []string, err error) {
	all, err := command.ListServices(ctx, client, &hubv1.ListServicesRequest{Cluster: cluster, Brief: true})
	for _, s := range all {
		if name := s.GetName(); name != agentService {
			names = append(names, name)
		}
	}
	return names, err
}
