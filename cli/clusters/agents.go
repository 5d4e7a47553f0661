package clusters

import (
	"context"
	"fmt"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/internal/flagvalue"
	"github.com/axle-cd/axle/sdk"
)

// showUpgrade prints an upgrade and, below it, its clusters.
func showUpgrade(a *command.App, u *hubv1.AgentUpgrade) error {
	if output.Data(a.Output) {
		return a.Encode(u)
	}
	if u.GetPhase() == "" {
		_, err := fmt.Fprintf(a.Err, "no agent upgrade has run yet; the hub is at version %s\n", u.GetHubVersion())
		return err
	}
	if output.Human(a.Output) && !a.Quiet {
		err := command.PrintOne(a, u, (*hubv1.AgentUpgrade).GetVersion,
			command.Col("Version", (*hubv1.AgentUpgrade).GetVersion),
			command.Col("Before", (*hubv1.AgentUpgrade).GetPrevious),
			command.Col("Phase", (*hubv1.AgentUpgrade).GetPhase),
			command.Col("Wave", func(u *hubv1.AgentUpgrade) string {
				return fmt.Sprintf("%d of %d (%s)", u.GetWave(), len(u.GetWaves()), strings.Join(u.GetWaves(), ", "))
			}),
			command.Col("Message", (*hubv1.AgentUpgrade).GetMessage),
			command.Col("By", (*hubv1.AgentUpgrade).GetBy),
			command.Col("Managed by", command.ManagerOf[*hubv1.AgentUpgrade]),
			command.Col("Changed", func(u *hubv1.AgentUpgrade) string { return command.Ago(a.Age(u.GetUpdatedAt())) }),
		)
		if err != nil || len(u.GetTargets()) == 0 {
			return err
		}
		fmt.Fprintln(a.Out)
	}
	return command.PrintList(a, u.GetTargets(), (*hubv1.AgentUpgradeTarget).GetCluster, targetColumns(a)...)
}

func targetColumns(a *command.App) []command.Column[*hubv1.AgentUpgradeTarget] {
	return []command.Column[*hubv1.AgentUpgradeTarget]{
		command.Col("CLUSTER", (*hubv1.AgentUpgradeTarget).GetCluster),
		command.Col("WAVE", func(t *hubv1.AgentUpgradeTarget) string { return fmt.Sprint(t.GetWave()) }),
		command.Col("STATE", (*hubv1.AgentUpgradeTarget).GetState),
		command.Col("AGENT", (*hubv1.AgentUpgradeTarget).GetAgentVersion),
		command.Ages("GOOD SINCE", func(t *hubv1.AgentUpgradeTarget) string { return command.Ago(a.Age(t.GetGoodSince())) }),
		command.Col("MESSAGE", (*hubv1.AgentUpgradeTarget).GetMessage),
	}
}

// agentsStatus shows the last upgrade, or watches its clusters.
func agentsStatus(a *command.App) *cobra.Command {
	var watch bool
	c := &cobra.Command{
		Use: "status", Short: "Show the last agent upgrade, cluster by cluster", Args: command.NoArgs,
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, _ []string) error {
			status := func(ctx context.Context) (*hubv1.AgentUpgrade, error) {
				answer, err := client.Agents.UpgradeStatus(ctx, connect.NewRequest(&hubv1.UpgradeStatusRequest{}))
				if err != nil {
					return nil, err
				}
				return answer.Msg, nil
			}
			if !watch {
				u, err := status(c.Context())
				if err != nil {
					return err
				}
				return showUpgrade(a, u)
			}
			read := func(ctx context.Context) ([]*hubv1.AgentUpgradeTarget, error) {
				u, err := status(ctx)
				return u.GetTargets(), err
			}
			return command.Follow(c.Context(), a, true, output.Watched[*hubv1.AgentUpgradeTarget]{Read: read, Name: (*hubv1.AgentUpgradeTarget).GetCluster, Columns: targetColumns(a)})
		}),
	}
	command.WatchFlag(c, &watch)
	return c
}

// Agents returns the command axle agents.
func Agents(a *command.App) *cobra.Command {
	word := func(use, short string, call func(ctx context.Context, client *sdk.Client) (*connect.Response[hubv1.AgentUpgrade], error)) *cobra.Command {
		return &cobra.Command{
			Use: use, Short: short, Args: command.NoArgs,
			RunE: a.Call(func(c *cobra.Command, client *sdk.Client, _ []string) error {
				answer, err := call(c.Context(), client)
				if err != nil {
					return err
				}
				return showUpgrade(a, answer.Msg)
			}),
		}
	}
	return command.Noun("agents", "Show and upgrade the agents", []string{"agent"},
		agentsUpgrade(a),
		agentsStatus(a),
		word("pause", "Pause the agent upgrade: no further agent starts", func(ctx context.Context, client *sdk.Client) (*connect.Response[hubv1.AgentUpgrade], error) {
			return client.Agents.PauseUpgrade(ctx, connect.NewRequest(&hubv1.PauseUpgradeRequest{}))
		}),
		word("resume", "Resume an agent upgrade that was paused or stopped", func(ctx context.Context, client *sdk.Client) (*connect.Response[hubv1.AgentUpgrade], error) {
			return client.Agents.ResumeUpgrade(ctx, connect.NewRequest(&hubv1.ResumeUpgradeRequest{}))
		}),
		word("abort", "Abort the agent upgrade and roll agents back", func(ctx context.Context, client *sdk.Client) (*connect.Response[hubv1.AgentUpgrade], error) {
			return client.Agents.AbortUpgrade(ctx, connect.NewRequest(&hubv1.AbortUpgradeRequest{}))
		}),
	)
}

func agentsUpgrade(a *command.App) *cobra.Command {
	request := &hubv1.StartUpgradeRequest{Management: command.Management()}
	var soak time.Duration
	c := &cobra.Command{
		Use: "upgrade", Short: "Upgrade the agents to a version, in waves",
		Long: `Upgrade every agent that was installed from its manifests. A few clusters get
the version first. The next wave begins when those have been healthy for a while.
In its cluster, the new agent runs beside the old one. The old one hands over only
when the new one produces the same manifests for every service. A new agent that
does not work is rolled back automatically. If this happens in more than 5 % of
the clusters, the upgrade stops.

The hub starts an upgrade by itself when its own version changes, unless it
runs with --agent-upgrades=manual.`,
		Example: `  axle agents upgrade
  axle agents upgrade --to 1.4.2 --waves 1,5%,25%,100% --soak 30m
  axle agents status`,
		Args: command.NoArgs,
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, _ []string) error {
			request.SoakMicros = soak.Microseconds()
			answer, err := client.Agents.StartUpgrade(c.Context(), connect.NewRequest(request))
			if err != nil {
				return err
			}
			return showUpgrade(a, answer.Msg)
		}),
	}
	f := c.Flags()
	command.TakeOverFlag(c, request.GetManagement())
	f.StringVar(&request.Version, "to", "", "version of the agent (default: the hub's own)")
	f.StringVar(&request.Image, "image", "", "image for every cluster (default: each cluster's own registry, with the version as the tag)")
	flagvalue.List(f, &request.Waves, "waves", "clusters upgraded after each wave, as numbers or percentages (default: 1,1%,10%,100%)")
	f.DurationVar(&soak, "soak", 0, "how long a wave must stay healthy before the next begins (default: 15m)")
	f.StringVar(&request.MaxUnavailable, "max-unavailable", "", "how many agents may upgrade at once, a number or a percentage (default: the whole wave)")
	return c
}
