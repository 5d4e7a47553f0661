package clusters

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk"
)

func poolsCommand(a *command.App) *cobra.Command {
	return command.Noun("pools", "Show and scale the node pools of a cluster that was made from a template", []string{"pool"}, listPoolsCommand(a), scalePoolCommand(a))
}

// made returns how a cluster was made, empty for one that has no machines of Cluster API.
func made(ctx context.Context, a *command.App, client *sdk.Client, name string) (*hubv1.ClusterOrigin, error) {
	got, err := client.Clusters.Get(ctx, connect.NewRequest(&hubv1.GetClusterRequest{Name: name}))
	if err != nil {
		return nil, err
	}
	if got.Msg.GetOrigin() == nil {
		fmt.Fprintf(a.Err, "cluster %s was not made from a template, so the hub knows no machines of it; axle kubectl --clusters %s -- get nodes shows its nodes\n", name, name)
	}
	return got.Msg.GetOrigin(), nil
}

// pool is a node pool: what the variables ask for, and what there is.
type pool struct {
	Name     string   `json:"name"`
	Count    *int64   `json:"count,omitempty"`
	Min      *int64   `json:"min,omitempty"`
	Max      *int64   `json:"max,omitempty"`
	Desired  int32    `json:"desired"`
	Ready    int32    `json:"ready"`
	UpToDate int32    `json:"upToDate"`
	Phase    string   `json:"phase,omitempty"`
	Versions []string `json:"versions,omitempty"`
}

// bounds are how many machines a pool is to have.
func (p pool) bounds() string {
	switch {
	case p.Min != nil && p.Max != nil:
		return fmt.Sprintf("%d to %d", *p.Min, *p.Max)
	case p.Count != nil:
		return fmt.Sprint(*p.Count)
	}
	return ""
}

// maxVariables bounds what the variables of a cluster become in memory.
const maxVariables = 4 << 20

// poolsIn are the pools of a cluster in the order of their names: those of its variables, and
// others that are still there.
func poolsIn(o *hubv1.ClusterOrigin) ([]pool, error) {
	var variables struct {
		Pools []struct {
			Name  string `json:"name"`
			Count *int64 `json:"count"`
			Min   *int64 `json:"minSize"`
			Max   *int64 `json:"maxSize"`
		} `json:"nodePools"`
	}
	if err := bounded.JSON([]byte(cmp.Or(o.GetVariables(), "{}")), &variables, maxVariables); err != nil {
		return nil, errcode.New(errcode.Unprocessable, "the pools in the variables of the cluster cannot be read: %w", err)
	}
	all := map[string]pool{}
	for _, p := range variables.Pools {
		all[p.Name] = pool{Name: p.Name, Count: p.Count, Min: p.Min, Max: p.Max}
	}
	for _, m := range o.GetState().GetPools() {
		p := all[m.GetName()]
		p.Name, p.Desired, p.Ready, p.UpToDate, p.Phase, p.Versions = m.GetName(), m.GetDesired(), m.GetReady(), m.GetUpToDate(), m.GetPhase(), m.GetVersions()
		all[p.Name] = p
	}
	var list []pool
	for _, name := range command.SortedKeys(all) {
		list = append(list, all[name])
	}
	return list, nil
}

// PoolNames returns the names of the node pools of a cluster.
func PoolNames(ctx context.Context, client *sdk.Client, cluster string) ([]string, error) {
	got, err := client.Clusters.Get(ctx, connect.NewRequest(&hubv1.GetClusterRequest{Name: cluster}))
	if err != nil {
		return nil, err
	}
	list, err := poolsIn(got.Msg.GetOrigin())
	var names []string
	for _, p := range list {
		names = append(names, p.Name)
	}
	return names, err
}

func listPoolsCommand(a *command.App) *cobra.Command {
	return &cobra.Command{
		Use: "list NAME", Short: "List the node pools of a cluster",
		Long: `List the node pools of a cluster that was made from a template: how many machines its
variables ask for, a number or the bounds of the autoscaler, and how many there are, as
its management cluster last reported them.`,
		Example: "  axle clusters pools list shop-1",
		Args:    command.Exactly(1),
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			o, err := made(c.Context(), a, client, args[0])
			if err != nil {
				return err
			}
			list, err := poolsIn(o)
			if err != nil {
				return err
			}
			return command.PrintList(a, list, pool.name, poolColumns("NAME", "MACHINES", "DESIRED", "READY", "UP TO DATE", "PHASE", "VERSIONS")...)
		}),
	}
}

func (p pool) name() string { return p.Name }

// poolColumns are what is shown of a pool, under titles of a list or of one pool.
func poolColumns(name, machines, desired, ready, upToDate, phase, versions string) []command.Column[pool] {
	return []command.Column[pool]{
		command.Col(name, pool.name),
		command.Col(machines, pool.bounds),
		command.Col(desired, func(p pool) string { return fmt.Sprint(p.Desired) }),
		command.Col(ready, func(p pool) string { return fmt.Sprint(p.Ready) }),
		command.Col(upToDate, func(p pool) string { return fmt.Sprint(p.UpToDate) }),
		command.Col(phase, func(p pool) string { return p.Phase }),
		command.Col(versions, func(p pool) string { return strings.Join(p.Versions, ",") }),
	}
}

func scalePoolCommand(a *command.App) *cobra.Command {
	var replicas, least, most uint32
	request := &hubv1.UpdateClusterRequest{Pool: &hubv1.PoolSize{}, Management: command.Management()}
	c := &cobra.Command{
		Use: "scale NAME POOL", Short: "Change how many machines a node pool has",
		Long: `Change how many machines a node pool has: a number, or the bounds within which an
autoscaler chooses. It is a change of the variable nodePools of the cluster, which must
fit the template and the limits of the project as with axle clusters update; the hub
changes only that pool, so others may be scaled at the same time. A number ends the
bounds of the pool; of the bounds, one that is not given stays as it is.`,
		Example: `  axle clusters pools scale shop-1 default --replicas 5
  axle clusters pools scale shop-1 default --min 2 --max 10
  axle clusters pools scale shop-1 default --max 20 --dry-run`,
		Args: command.Exactly(2),
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			request.Name, request.Pool.Name = args[0], args[1]
			for flag, to := range map[string]struct {
				value *uint32
				field **uint32
			}{"replicas": {&replicas, &request.Pool.Replicas}, "min": {&least, &request.Pool.Min}, "max": {&most, &request.Pool.Max}} {
				if c.Flags().Changed(flag) {
					*to.field = to.value
				}
			}
			changed, err := client.Clusters.Update(c.Context(), connect.NewRequest(request))
			if err != nil {
				return err
			}
			list, err := poolsIn(changed.Msg.GetOrigin())
			if err != nil {
				return err
			}
			if request.GetDryRun() {
				fmt.Fprintf(a.Err, "node pool %s of cluster %s scaled (dry run, nothing stored)\n", args[1], args[0])
			}
			at := slices.IndexFunc(list, func(p pool) bool { return p.Name == args[1] })
			if at < 0 {
				return errcode.New(errcode.Unprocessable, "the hub took the size, but its answer has no node pool %s; axle clusters pools list %s shows them", args[1], args[0])
			}
			return command.PrintOne(a, list[at], pool.name, poolColumns("Name", "Machines", "Desired", "Ready", "Up to date", "Phase", "Versions")...)
		}),
	}
	c.Flags().Uint32Var(&replicas, "replicas", 0, "number of machines")
	c.Flags().Uint32Var(&least, "min", 0, "fewest machines, for an autoscaler")
	c.Flags().Uint32Var(&most, "max", 0, "most machines, for an autoscaler")
	c.Flags().BoolVar(&request.DryRun, "dry-run", false, "check everything, store nothing")
	command.TakeOverFlag(c, request.GetManagement())
	for _, bound := range []string{"min", "max"} {
		c.MarkFlagsMutuallyExclusive("replicas", bound)
	}
	c.MarkFlagsOneRequired("replicas", "min", "max")
	return c
}
