package clusters

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk"
)

func machinesCommand(a *command.App) *cobra.Command {
	return command.Noun("machines", "Show and replace the machines of a cluster that was made from a template", []string{"machine"}, listMachinesCommand(a), replaceMachineCommand(a))
}

func listMachinesCommand(a *command.App) *cobra.Command {
	return &cobra.Command{
		Use: "list NAME", Short: "List the machines of a cluster",
		Long: `List the machines of a cluster that was made from a template, as its management cluster
last reported them, in Cluster API's words. Of a cluster with more than 100 machines,
those are listed that are not ready, and then others.`,
		Example: "  axle clusters machines list shop-1",
		Args:    command.Exactly(1),
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			o, err := made(c.Context(), a, client, args[0])
			if err != nil {
				return err
			}
			list := slices.Clone(o.GetState().GetMachines())
			slices.SortFunc(list, func(a, b *hubv1.MadeMachine) int {
				return cmp.Or(strings.Compare(a.GetPool(), b.GetPool()), strings.Compare(a.GetName(), b.GetName()))
			})
			if more := o.GetState().GetMoreMachines(); more > 0 {
				fmt.Fprintf(a.Err, "%d more machines are not listed\n", more)
			}
			return command.PrintList(a, list, (*hubv1.MadeMachine).GetName,
				command.Col("NAME", (*hubv1.MadeMachine).GetName),
				command.Col("POOL", func(m *hubv1.MadeMachine) string { return cmp.Or(m.GetPool(), "control plane") }),
				command.Col("PHASE", (*hubv1.MadeMachine).GetPhase),
				command.Col("NODE", (*hubv1.MadeMachine).GetNode),
				command.Col("VERSION", (*hubv1.MadeMachine).GetVersion),
				command.Ages("AGE", func(m *hubv1.MadeMachine) string { return a.Age(m.GetCreatedAt()) }),
				command.Col("MESSAGE", (*hubv1.MadeMachine).GetMessage),
			)
		}),
	}
}

// MachineNames returns the names of the machines of a cluster that may be replaced.
func MachineNames(ctx context.Context, client *sdk.Client, cluster string) ([]string, error) {
	got, err := client.Clusters.Get(ctx, connect.NewRequest(&hubv1.GetClusterRequest{Name: cluster}))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, m := range got.Msg.GetOrigin().GetState().GetMachines() {
		if m.GetPool() != "" {
			names = append(names, m.GetName())
		}
	}
	return names, nil
}

// replaceLimit is how long a machine takes at most whose pods may be evicted.
const replaceLimit = 30 * time.Minute

func replaceMachineCommand(a *command.App) *cobra.Command {
	request := &hubv1.ReplaceMachineRequest{}
	var wait time.Duration
	c := &cobra.Command{
		Use: "replace NAME MACHINE", Short: "Replace a machine of a node pool",
		Long: `Replace a machine of a node pool of a cluster that was made from a template: the agent of
its management cluster deletes the Machine object, Cluster API evicts the pods from it, and
makes another one once it is gone. The other machines take its pods meanwhile: scale the
pool by one first where they have no room. The command waits until the pool has as many
machines that are ready as it is to have, and shows what it waits for, such as a
PodDisruptionBudget that allows no eviction. It means the machine that the list shows, and
no later one of that name.

An interrupted command changes nothing: it goes on, and the same command shows how far it
is. Machines of the control plane are replaced by their provider.`,
		Example: `  axle clusters machines replace shop-1 shop-1-default-x7k2p
  axle clusters machines replace shop-1 shop-1-default-x7k2p --dry-run
  axle clusters machines replace shop-1 shop-1-default-x7k2p --timeout 0   # begin it, and do not wait`,
		Args: command.Exactly(2),
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			request.Name, request.Machine = args[0], args[1]
			got, err := client.Clusters.ReplaceMachine(c.Context(), connect.NewRequest(request))
			if err != nil {
				return err
			}
			r := replacementOf(got.Msg, args[1], "")
			if r == nil {
				return errcode.New(errcode.Unprocessable, "the hub took the request, but its answer does not have machine %s; axle clusters get %s shows what is replaced", args[1], args[0])
			}
			if request.GetDryRun() {
				fmt.Fprintf(a.Err, "machine %s of cluster %s replaced (dry run, nothing stored)\n", args[1], args[0])
			} else if wait > 0 {
				if r, err = awaitReplaced(c.Context(), a, client, args[0], r, wait); err != nil {
					return err
				}
			}
			return command.PrintOne(a, r, (*hubv1.MachineReplacement).GetMachine,
				command.Col("Machine", (*hubv1.MachineReplacement).GetMachine),
				command.Col("Pool", (*hubv1.MachineReplacement).GetPool),
				command.Col("State", replacementState),
				command.Col("Requested", func(r *hubv1.MachineReplacement) string {
					return command.Ago(a.Age(r.GetRequestedAt())) + " by " + r.GetRequestedBy()
				}),
				command.Col("Message", (*hubv1.MachineReplacement).GetMessage),
			)
		}),
	}
	c.Flags().BoolVar(&request.DryRun, "dry-run", false, "check everything, replace nothing")
	c.Flags().DurationVar(&wait, "timeout", replaceLimit, "how long to wait; 0 does not wait")
	return c
}

// replacementOf is the last replacement of a machine, of one uid unless that is empty; nil for
// none.
func replacementOf(c *hubv1.Cluster, machine, uid string) *hubv1.MachineReplacement {
	for _, r := range slices.Backward(c.GetOrigin().GetReplacements()) {
		if r.GetMachine() == machine && (uid == "" || r.GetUid() == uid) {
			return r
		}
	}
	return nil
}

func replacementState(r *hubv1.MachineReplacement) string {
	switch {
	case r.GetRefused():
		return "Refused"
	case r.GetEndedAt() != 0:
		return "Replaced"
	}
	return "Replacing"
}

// awaitReplaced waits until a machine is replaced, and shows what it waits for.
func awaitReplaced(ctx context.Context, a *command.App, client *sdk.Client, cluster string, r *hubv1.MachineReplacement, wait time.Duration) (*hubv1.MachineReplacement, error) {
	p := a.Begin("machine %s is being replaced", r.GetMachine())
	defer p.End()
	last := ""
	ended, err := a.PollUntil(ctx, wait, func(ctx context.Context) (bool, error) {
		got, err := client.Clusters.Get(ctx, connect.NewRequest(&hubv1.GetClusterRequest{Name: cluster}))
		if err != nil {
			return false, err
		}
		now := replacementOf(got.Msg, r.GetMachine(), r.GetUid())
		if now == nil || got.Msg.GetOrigin().GetDestroying() {
			return false, errcode.New(errcode.Conflict, "cluster %s changed while its machine %s was being replaced; axle clusters get %s shows it", cluster, r.GetMachine(), cluster)
		}
		r, last = now, cmp.Or(now.GetMessage(), "the agent of management cluster "+got.Msg.GetOrigin().GetManagementCluster()+" has not reported on it yet")
		p.Say("machine %s: %s", r.GetMachine(), last)
		return r.GetEndedAt() != 0, nil
	})
	switch {
	case err != nil:
		return nil, err
	case !ended:
		return nil, errcode.New(errcode.Unavailable, "machine %s of cluster %s is still being replaced after %s: %s; axle clusters get %s shows how far it is", r.GetMachine(), cluster, wait, last, cluster)
	case r.GetRefused():
		return nil, errcode.New(errcode.Unprocessable, "machine %s of cluster %s stays as it is: %s", r.GetMachine(), cluster, r.GetMessage())
	}
	return r, nil
}

// replacementsOf are the machines of a cluster that are being replaced, each with its age.
func replacementsOf(a *command.App, c *hubv1.Cluster) string {
	var all []string
	for _, r := range c.GetOrigin().GetReplacements() {
		if r.GetEndedAt() == 0 {
			all = append(all, strings.TrimSuffix(fmt.Sprintf("%s of pool %s, since %s: %s", r.GetMachine(), r.GetPool(), a.Age(r.GetRequestedAt()), r.GetMessage()), ": "))
		}
	}
	return strings.Join(all, "; ")
}
