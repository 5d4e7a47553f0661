package clusters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk"
)

// destroyLimit is how long a cluster with load balancers and some machines takes at most.
const destroyLimit = 30 * time.Minute

func destroyCommand(a *command.App) *cobra.Command {
	management := command.Management()
	var force bool
	var wait time.Duration
	c := &cobra.Command{
		Use: "destroy NAME…", Short: "Destroy clusters that were made from a template, with their machines",
		Long: `Destroy a cluster that was made from a template. First its own agent pauses all
services and removes what the cluster holds at its provider: Services of the type
LoadBalancer, Ingresses, Gateways, and claims with their volumes unless these are
retained, whoever made them. Each wait is shown. Then the management cluster deletes the
Cluster object and waits until Cluster API has removed the machines; then the objects of
the template and the namespace go, and the cluster leaves the hub.

A cluster whose agent is gone waits for it, which is shown. --force goes on without it, and
also while an object hangs: what is left at the provider stays there. An interrupted
command changes nothing: it goes on, and the same command shows how far it is.

It is refused while a service on the cluster is protected. To keep the machines, and only
remove the cluster from the hub: axle clusters delete NAME --detach.`,
		Example: `  axle clusters destroy shop-1
  axle clusters destroy shop-1 --timeout 0     # begin it, and do not wait
  axle clusters destroy shop-1 --force         # leave at the provider what does not go`,
		Args: command.AtLeast(1),
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			var begun []string
			err := command.Each(args, func(name string) error {
				_, err := client.Clusters.Destroy(c.Context(), connect.NewRequest(&hubv1.DestroyClusterRequest{Name: name, Management: management, Force: force}))
				if err == nil {
					begun = append(begun, name)
					_, err = fmt.Fprintf(a.Err, "cluster %s is being destroyed\n", name)
				}
				return err
			})
			if wait == 0 {
				return err
			}
			return errors.Join(err, command.Each(begun, func(name string) error { return awaitDestroyed(c.Context(), a, client, name, wait) }))
		}),
	}
	command.TakeOverFlag(c, management)
	c.Flags().BoolVar(&force, "force", false, "do not wait for load balancers and volumes, or no longer; what is left of them stays at the provider")
	c.Flags().DurationVar(&wait, "timeout", destroyLimit, "how long to wait; 0 does not wait")
	return c
}

// awaitDestroyed waits until a cluster has left the hub, and shows what it waits for.
func awaitDestroyed(ctx context.Context, a *command.App, client *sdk.Client, name string, wait time.Duration) error {
	p := a.Begin("cluster %s is being destroyed", name)
	defer p.End()
	last := ""
	gone, err := a.PollUntil(ctx, wait, func(ctx context.Context) (bool, error) {
		got, err := client.Clusters.Get(ctx, connect.NewRequest(&hubv1.GetClusterRequest{Name: name}))
		if sdk.IsNotFound(err) {
			return true, nil
		}
		if err == nil {
			last = destroyStep(got.Msg)
			p.Say("cluster %s: %s", name, last)
		}
		return false, err
	})
	if err == nil && gone {
		_, err = fmt.Fprintf(a.Err, "cluster %s is destroyed\n", name)
	} else if err == nil {
		err = errcode.New(errcode.Unavailable, "cluster %s is still being destroyed after %s: %s; axle clusters get %s shows how far it is", name, wait, last, name)
	}
	return err
}

// destroyStep is what a cluster that is being destroyed waits for.
func destroyStep(c *hubv1.Cluster) string {
	if clean := c.GetOrigin().GetCleanup(); clean != nil && clean.GetEndedAt() == 0 {
		return cmp.Or(strings.Join(leftovers(clean, func(*hubv1.CleanupObject) string { return "" }), "; "), "its agent looks for what is left at the provider")
	}
	return "its machines are being removed by management cluster " + c.GetOrigin().GetManagementCluster()
}

// leftovers are what a cleanup waits for, each with its age.
func leftovers(clean *hubv1.ClusterCleanup, age func(*hubv1.CleanupObject) string) (all []string) {
	if clean.GetMessage() != "" {
		all = append(all, clean.GetMessage())
	}
	for _, o := range clean.GetLeft() {
		name := o.GetName()
		if o.GetNamespace() != "" {
			name = o.GetNamespace() + "/" + name
		}
		all = append(all, fmt.Sprintf("%s %s %s%s", o.GetKind(), name, o.GetMessage(), age(o)))
	}
	if clean.GetMore() > 0 {
		all = append(all, fmt.Sprintf("%d more", clean.GetMore()))
	}
	return all
}

// cleanupOf is how far a cluster that is being destroyed is with what it holds at its provider.
func cleanupOf(a *command.App, c *hubv1.Cluster) string {
	clean := c.GetOrigin().GetCleanup()
	left := strings.Join(leftovers(clean, func(o *hubv1.CleanupObject) string {
		if o.GetSince() == 0 {
			return ""
		}
		return ", for " + a.Age(o.GetSince())
	}), "; ")
	switch {
	case clean == nil:
		return ""
	case clean.GetForced():
		return "forced " + command.Ago(a.Age(clean.GetEndedAt())) + "; left at the provider: " + cmp.Or(left, "unknown")
	case clean.GetEndedAt() != 0:
		return "done " + command.Ago(a.Age(clean.GetEndedAt()))
	}
	return "since " + a.Age(clean.GetStartedAt()) + ": " + cmp.Or(left, "its agent looks for what is left at the provider")
}
