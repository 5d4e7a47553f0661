package clusters

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/fields"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/internal/flagvalue"
	"github.com/axle-cd/axle/sdk"
)

// Command returns the command axle clusters.
func Command(a *command.App) *cobra.Command {
	return command.Noun("clusters", "Manage the clusters that services run on", []string{"cluster"},
		listCommand(a), getCommand(a), createCommand(a), connectCommand(a), enrollmentCommand(a), readinessCommand(a), alertsCommand(a), kubeconfigCommand(a), credentialCommand(a), oidcCommand(a), oidcCredentialCommand(a), updateCommand(a), moveCommand(a), approveCommand(a), poolsCommand(a), machinesCommand(a), orphansCommand(a), apiCommand(a), destroyCommand(a), deleteCommand(a))
}

// clusterState says whether the cluster polls, and if not, why.
func clusterState(c *hubv1.Cluster) string {
	switch {
	case c.GetOrigin().GetDestroying():
		return "Destroying"
	case c.GetPending():
		return "Awaiting approval"
	case !c.GetRegistered() && c.GetOrigin() != nil:
		return cmp.Or(c.GetOrigin().GetState().GetPhase(), "Provisioning")
	case !c.GetRegistered():
		return "Not connected"
	}
	return c.GetFreshness()
}

// tunnelOf is the tunnel's state and how long it has lasted.
func tunnelOf(a *command.App, c *hubv1.Cluster) string {
	if c.GetTunnelSince() == 0 {
		return c.GetTunnel()
	}
	return c.GetTunnel() + " for " + a.Age(c.GetTunnelSince())
}

func joinMap(m map[string]string) string {
	var parts []string
	for _, k := range command.SortedKeys(m) {
		parts = append(parts, k+"="+m[k])
	}
	return strings.Join(parts, ",")
}

func clusterColumns(a *command.App) []command.Column[*hubv1.Cluster] {
	return []command.Column[*hubv1.Cluster]{
		command.Col("NAME", (*hubv1.Cluster).GetName),
		command.Col("STATE", clusterState),
		command.Ages("POLLED", func(v *hubv1.Cluster) string { return a.Age(v.GetPolledAt()) }),
		command.Col("TUNNEL", (*hubv1.Cluster).GetTunnel),
		command.Col("SERVICES", func(v *hubv1.Cluster) string { return fmt.Sprintf("%d/%d", v.GetServicesHealthy(), v.GetServices()) }),
		command.Col("KUBERNETES", (*hubv1.Cluster).GetKubernetesVersion),
		command.Col("AGENT", (*hubv1.Cluster).GetAgentVersion),
		command.Wide("PROJECT", (*hubv1.Cluster).GetProject),
		command.Wide("HANDLE", (*hubv1.Cluster).GetHandle),
		command.Wide("DISTRO", (*hubv1.Cluster).GetDistro),
		command.Wide("NODES", func(v *hubv1.Cluster) string { return strconv.Itoa(int(v.GetNodes())) }),
		command.Wide("MESSAGE", (*hubv1.Cluster).GetMessage),
		command.Wide("MANAGED BY", command.ManagerOf[*hubv1.Cluster]),
		command.Col("TAGS", func(v *hubv1.Cluster) string { return joinMap(v.GetTags()) }),
	}
}

func printCluster(a *command.App, c *hubv1.Cluster) error {
	return command.PrintOne(a, c, (*hubv1.Cluster).GetName,
		command.Col("Name", (*hubv1.Cluster).GetName),
		command.Col("Handle", (*hubv1.Cluster).GetHandle),
		command.Col("Project", (*hubv1.Cluster).GetProject),
		command.Col("State", clusterState),
		command.Col("Last poll", func(v *hubv1.Cluster) string { return command.Ago(a.Age(v.GetPolledAt())) }),
		command.Col("Last ping", func(v *hubv1.Cluster) string { return command.Ago(a.Age(v.GetPingedAt())) }),
		command.Col("Message", (*hubv1.Cluster).GetMessage),
		command.Col("Tags", func(v *hubv1.Cluster) string { return joinMap(v.GetTags()) }),
		command.Col("Not counted", func(v *hubv1.Cluster) string {
			if len(v.GetUncountedTags()) == 0 {
				return ""
			}
			return strings.Join(v.GetUncountedTags(), ", ") + " (global services of all projects go only by tags that an administrator set)"
		}),
		command.Col("Kubernetes", func(v *hubv1.Cluster) string {
			return strings.TrimSpace(v.GetKubernetesVersion() + " " + v.GetDistro())
		}),
		command.Col("Nodes", func(v *hubv1.Cluster) string { return strconv.Itoa(int(v.GetNodes())) }),
		command.Col("Agent", (*hubv1.Cluster).GetAgentVersion),
		command.Col("Tunnel", func(v *hubv1.Cluster) string { return tunnelOf(a, v) }),
		command.Col("Services", func(v *hubv1.Cluster) string {
			return fmt.Sprintf("%d, %d healthy, %d failed", v.GetServices(), v.GetServicesHealthy(), v.GetServicesFailed())
		}),
		command.Col("Template", madeOf),
		command.Col("Variables", func(v *hubv1.Cluster) string { return v.GetOrigin().GetVariables() }),
		command.Col("Made on", madeOn),
		command.Col("Phase", func(v *hubv1.Cluster) string { return phaseOf(a, v) }),
		command.Col("Waits for", func(v *hubv1.Cluster) string { return v.GetOrigin().GetState().GetMessage() }),
		command.Col("Replacing", func(v *hubv1.Cluster) string { return replacementsOf(a, v) }),
		command.Col("Cleanup", func(v *hubv1.Cluster) string { return cleanupOf(a, v) }),
		command.Col("Control plane", func(v *hubv1.Cluster) string { return machines(v.GetOrigin().GetState().GetControlPlane()) }),
		command.Col("Pools", poolsOf),
		command.Col("Checks", func(v *hubv1.Cluster) string { return strings.Join(v.GetOrigin().GetState().GetUnmet(), "; ") }),
		command.Col("Not true", func(v *hubv1.Cluster) string { return conditionsOf(a, v) }),
		command.Col("Managed by", command.ManagerOf[*hubv1.Cluster]),
		command.Col("Created", func(v *hubv1.Cluster) string { return command.Ago(a.Age(v.GetCreatedAt())) }),
	)
}

func getCommand(a *command.App) *cobra.Command {
	return command.Gets(a, "Cluster", "Show clusters", "", printCluster, func(a *command.App, all []*hubv1.Cluster) error {
		return command.PrintList(a, all, (*hubv1.Cluster).GetName, clusterColumns(a)...)
	})
}

func createCommand(a *command.App) *cobra.Command {
	request := &hubv1.CreateClusterRequest{}
	from := &hubv1.FromTemplate{}
	c := &cobra.Command{
		Use: "create NAME", Short: "Create a cluster before its agent, or make one from a template",
		Long: `Create a cluster before its agent is installed, and print a bootstrap token. The
agent uses the token once, within an hour. axle clusters connect does the same and
also installs the agent.

With --template, the hub makes the cluster itself: the management cluster gets the
objects of the template, with the variables that you set, and Cluster API makes the
machines. It needs the action create in the project, and a template that is for the
project. The cluster is Provisioning until its agent connects.`,
		Example: `  axle clusters create edge-1
  axle clusters create shop-1 --template eks --set version=v1.34.0 --set region=eu-central-1 --on mgmt --project shop`,
		Args: command.Exactly(1),
		PreRunE: func(c *cobra.Command, _ []string) error {
			for _, name := range []string{"set", "variables", "on"} {
				if from.GetTemplate() == "" && c.Flags().Changed(name) {
					return exitcode.Usagef("--%s is for a cluster that is made from a template: name it with --template", name)
				}
			}
			if from.GetTemplate() != "" && request.GetRenewToken() {
				return exitcode.Usagef("--renew-token is for a cluster that exists; leave --template out")
			}
			return nil
		},
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			if request.Name = args[0]; from.GetTemplate() != "" {
				return makeCluster(c.Context(), a, client, request, from)
			}
			made, err := client.Clusters.Create(c.Context(), connect.NewRequest(request))
			if err != nil {
				return err
			}
			if !output.Human(a.Output) {
				return command.PrintOne(a, map[string]string{"name": made.Msg.GetCluster().GetName(), "bootstrapToken": made.Msg.GetBootstrapToken(), "expiresAt": fields.Stamp(made.Msg.GetBootstrapExpiresAt()), "hubUrl": made.Msg.GetHubUrl()},
					func(m map[string]string) string { return m["bootstrapToken"] })
			}
			said := "made"
			if request.GetRenewToken() {
				said = "has a new token"
			}
			command.NoteAccount(c.Context(), a, client, made.Msg.GetCluster().GetProject())
			fmt.Fprintf(a.Err, "cluster %s %s; its agent can register until %s with the bootstrap token:\n", made.Msg.GetCluster().GetName(), said, fields.Stamp(made.Msg.GetBootstrapExpiresAt()))
			_, err = fmt.Fprintln(a.Out, made.Msg.GetBootstrapToken())
			return err
		}),
	}
	clusterFlags(c, request)
	c.Flags().BoolVar(&request.RenewToken, "renew-token", false, "make a new token for an existing cluster that has no agent yet")
	templateFlags(c, from)
	return c
}

// clusterFlags adds the flags that create and connect share.
func clusterFlags(c *cobra.Command, request *hubv1.CreateClusterRequest) {
	c.Flags().StringVar(&request.Handle, "handle", "", "short unique name (default: NAME)")
	c.Flags().StringVar(&request.Project, "project", "", "project of the cluster (default: default)")
	flagvalue.Labels(c.Flags(), &request.Tags, "tag", "tags, key=value")
	c.Flags().StringVar(&request.Metadata, "metadata", "", "JSON object with metadata that templates can read")
}

func updateCommand(a *command.App) *cobra.Command {
	request := &hubv1.UpdateClusterRequest{Management: command.Management()}
	c := &cobra.Command{
		Use: "update NAME", Short: "Change a cluster's handle, tags, metadata or variables", Args: command.Exactly(1),
		Long: `Change what is declared of a cluster. Variables are those of a cluster that was made from
a template: --set changes single ones, --variables replaces all that were given before. The
template stays at the commit that the cluster was made of.`,
		Example: `  axle clusters update edge-1 --tag tier=edge
  axle clusters update shop-1 --set 'nodePools=[{"name": "default", "count": 5}]'`,
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			request.Name = args[0]
			request.SetTags, request.SetMetadata = c.Flags().Changed("tag"), c.Flags().Changed("metadata")
			if !request.GetSetTags() && !request.GetSetMetadata() && request.GetHandle() == "" && request.GetVariables() == "" && len(request.GetSet()) == 0 && !request.GetManagement().GetTakeOver() {
				return exitcode.Usagef("name what to change: --handle, --tag, --metadata, --set or --variables")
			}
			cluster, err := client.Clusters.Update(c.Context(), connect.NewRequest(request))
			if err != nil {
				return err
			}
			return printCluster(a, cluster.Msg)
		}),
	}
	c.Flags().StringVar(&request.Handle, "handle", "", "short unique name")
	flagvalue.Labels(c.Flags(), &request.Tags, "tag", "all tags, KEY=VALUE; replaces the present ones")
	c.Flags().StringVar(&request.Metadata, "metadata", "", "JSON object with metadata that templates can read")
	variableFlags(c, &request.Set, &request.Variables)
	command.TakeOverFlag(c, request.GetManagement())
	return c
}

func approveCommand(a *command.App) *cobra.Command {
	return &cobra.Command{
		Use: "approve NAME", Short: "Approve a cluster that registered with a shared token, so that it gets services", Args: command.Exactly(1),
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			cluster, err := client.Clusters.Approve(c.Context(), connect.NewRequest(&hubv1.ApproveClusterRequest{Name: args[0]}))
			if err != nil {
				return err
			}
			return printCluster(a, cluster.Msg)
		}),
	}
}

func deleteCommand(a *command.App) *cobra.Command {
	var detach bool
	var wait time.Duration
	management := command.Management()
	c := &cobra.Command{
		Use: "delete NAME…", Short: "Delete clusters from the hub and revoke their tokens",
		Long: `Delete a cluster from the hub and revoke its tokens. Delete its services first,
or detach them with --detach: the agent then removes its labels, annotations and
inventories, and the objects stay on the cluster. If the agent is offline, these
marks stay until the cluster is connected again; services with adopt: true then
take the objects over.`,
		Args: command.AtLeast(1),
		RunE: command.Removes(a, "cluster", "deleted", func(ctx context.Context, client *sdk.Client, name string) error {
			if detach && wait > 0 {
				if err := detachAll(ctx, a, client, name, wait); err != nil {
					return err
				}
			}
			_, err := client.Clusters.Delete(ctx, connect.NewRequest(&hubv1.DeleteClusterRequest{Name: name, Detach: detach, Management: management}))
			return err
		}),
	}
	c.Flags().BoolVar(&detach, "detach", false, "detach its services first and leave their objects on the cluster")
	c.Flags().DurationVar(&wait, "timeout", 2*time.Minute, "with --detach, how long to wait for the agent to remove its marks; 0 does not wait")
	command.TakeOverFlag(c, management)
	return c
}
