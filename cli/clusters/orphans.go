package clusters

import (
	"context"
	"fmt"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk"
)

func orphansCommand(a *command.App) *cobra.Command {
	return command.Noun("orphans", "Show, keep and remove the services of a cluster that the hub does not know", []string{"orphan"},
		listOrphansCommand(a), settleOrphanCommand(a, true), settleOrphanCommand(a, false))
}

func listOrphansCommand(a *command.App) *cobra.Command {
	return &cobra.Command{
		Use: "list NAME", Short: "List the services of a cluster that the hub does not know",
		Long: `List the services that a cluster has and the hub does not: a backup of the cluster
brought them back after they were deleted, or the hub was restored from a backup that is
older than they are. The agent changes nothing of them. Each line has the agent's words:
which service of which namespace it is; -o wide has the rest of them, with the cluster that
Cluster API makes for it, and the kubectl commands that end it without the hub.`,
		Example: "  axle clusters orphans list mgmt\n  axle clusters orphans list mgmt -o wide",
		Args:    command.Exactly(1),
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			got, err := client.Clusters.Get(c.Context(), connect.NewRequest(&hubv1.GetClusterRequest{Name: args[0]}))
			if err != nil {
				return err
			}
			return command.PrintList(a, got.Msg.GetOrphans(), (*hubv1.OrphanedService).GetId,
				command.Col("ID", (*hubv1.OrphanedService).GetId),
				command.Ages("REPORTED", func(o *hubv1.OrphanedService) string { return a.Age(o.GetReportedAt()) }),
				command.Col("MESSAGE", (*hubv1.OrphanedService).GetMessage),
			)
		}),
	}
}

// OrphanIDs returns the ids of the services of a cluster that the hub does not know.
func OrphanIDs(ctx context.Context, client *sdk.Client, cluster string) ([]string, error) {
	got, err := client.Clusters.Get(ctx, connect.NewRequest(&hubv1.GetClusterRequest{Name: cluster}))
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, o := range got.Msg.GetOrphans() {
		ids = append(ids, o.GetId())
	}
	return ids, nil
}

func settleOrphanCommand(a *command.App, keep bool) *cobra.Command {
	request := &hubv1.SettleOrphanRequest{Keep: keep}
	var wait time.Duration
	c := &cobra.Command{
		Use: "remove NAME ID", Short: "Remove a service that the hub does not know, with its objects",
		Long: `Remove a service that the hub does not know from a cluster, with its objects: the agent
deletes them in the order in which a service is deleted, and waits for each. Of a cluster of
a template, Cluster API removes the machines. The namespace stays. Administrators only,
because nobody knows which project it was of.

The command waits, and shows what it waits for. An interrupted command changes nothing:
it goes on, and axle services get shows how far it is.`,
		Example: "  axle clusters orphans remove mgmt svc-gn6w3q5zlx2c4vhbo7tdyk1rma",
		Args:    command.Exactly(2),
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			request.Name, request.ServiceId = args[0], args[1]
			got, err := client.Clusters.SettleOrphan(c.Context(), connect.NewRequest(request))
			if err != nil {
				return err
			}
			if wait == 0 {
				_, err = fmt.Fprintf(a.Err, "service %s of cluster %s is leaving as %s; axle services get %s shows how far it is\n", args[1], args[0], got.Msg.GetService(), got.Msg.GetService())
				return err
			}
			return awaitSettled(c.Context(), a, client, request, got.Msg.GetService(), wait)
		}),
	}
	if keep {
		c.Use, c.Short = "keep NAME ID", "Keep the objects of a service that the hub does not know"
		c.Long = `Keep the objects of a service that the hub does not know where they are, and end its
report: nobody manages them from then on, until a service takes them over. To manage them
again, create the service again afterwards with the same content and namespace.
Administrators only.`
		c.Example = "  axle clusters orphans keep mgmt svc-gn6w3q5zlx2c4vhbo7tdyk1rma"
	}
	c.Flags().DurationVar(&wait, "timeout", destroyLimit, "how long to wait; 0 does not wait")
	return c
}

// orphaned is the reason of a service whose agent has not heard yet that it leaves.
const orphaned = "Orphaned"

// awaitSettled waits until a service that the hub did not know has left, and shows what it
// waits for.
func awaitSettled(ctx context.Context, a *command.App, client *sdk.Client, request *hubv1.SettleOrphanRequest, service string, wait time.Duration) error {
	p := a.Begin("service %s is leaving", request.GetServiceId())
	defer p.End()
	ref := &hubv1.ServiceRef{Cluster: request.GetName(), Name: service[len(request.GetName())+1:]}
	last := "its agent has not reported yet"
	gone, err := a.PollUntil(ctx, wait, func(ctx context.Context) (bool, error) {
		got, err := client.Services.Get(ctx, connect.NewRequest(&hubv1.GetServiceRequest{Ref: ref}))
		if sdk.IsNotFound(err) {
			return true, nil
		}
		if err == nil && got.Msg.GetMessage() != "" && got.Msg.GetReason() != orphaned {
			last = got.Msg.GetMessage()
			p.Say("service %s: %s", request.GetServiceId(), last)
		}
		return false, err
	})
	if err != nil {
		return err
	}
	if !gone {
		return errcode.New(errcode.Unavailable, "service %s has not left cluster %s after %s: %s; axle services get %s shows how far it is", request.GetServiceId(), request.GetName(), wait, last, service)
	}
	how := "removed; its namespace stays, and goes with kubectl delete namespace once nothing in it is needed"
	if request.GetKeep() {
		how = "forgotten; its objects stay"
	}
	_, err = fmt.Fprintf(a.Err, "service %s of cluster %s is %s\n", request.GetServiceId(), request.GetName(), how)
	return err
}
