package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/sdk"
)

type upgradeView struct {
	Version    string              `json:"version"`
	Previous   string              `json:"previous,omitempty"`
	HubVersion string              `json:"hubVersion"`
	Phase      string              `json:"phase"`
	Wave       int32               `json:"wave"`
	Waves      []string            `json:"waves"`
	Message    string              `json:"message,omitempty"`
	By         string              `json:"by"`
	UpdatedAt  string              `json:"updatedAt"`
	UpdatedAge string              `json:"updatedAge"`
	Targets    []upgradeTargetView `json:"targets"`
}

type upgradeTargetView struct {
	Cluster      string `json:"cluster"`
	Wave         int32  `json:"wave"`
	State        string `json:"state"`
	AgentVersion string `json:"agentVersion"`
	Message      string `json:"message,omitempty"`
	GoodSince    string `json:"goodSince,omitempty"`
	GoodAge      string `json:"goodAge,omitempty"`
}

func (a *app) upgradeView(u *hubv1.AgentUpgrade) upgradeView {
	v := upgradeView{
		Version: u.GetVersion(), Previous: u.GetPrevious(), HubVersion: u.GetHubVersion(), Phase: u.GetPhase(), Wave: u.GetWave(),
		Waves: u.GetWaves(), Message: u.GetMessage(), By: u.GetBy(), UpdatedAt: stamp(u.GetUpdatedAt()), UpdatedAge: a.age(u.GetUpdatedAt()),
		Targets: []upgradeTargetView{},
	}
	for _, t := range u.GetTargets() {
		v.Targets = append(v.Targets, upgradeTargetView{
			Cluster: t.GetCluster(), Wave: t.GetWave(), State: t.GetState(), AgentVersion: t.GetAgentVersion(), Message: t.GetMessage(),
			GoodSince: stamp(t.GetGoodSince()), GoodAge: a.age(t.GetGoodSince()),
		})
	}
	return v
}

// showUpgrade prints an upgrade and, below it, its clusters.
func (a *app) showUpgrade(u *hubv1.AgentUpgrade) error {
	v := a.upgradeView(u)
	if output.Data(a.output) {
		return a.encode(v)
	}
	if v.Phase == "" {
		_, err := fmt.Fprintf(a.Err, "no agent upgrade has run yet; the hub is at version %s\n", v.HubVersion)
		return err
	}
	if output.Human(a.output) && !a.quiet {
		err := printOne(a, v, func(v upgradeView) string { return v.Version },
			col("Version", func(v upgradeView) string { return v.Version }),
			col("Before", func(v upgradeView) string { return v.Previous }),
			col("Phase", func(v upgradeView) string { return v.Phase }),
			col("Wave", func(v upgradeView) string {
				return fmt.Sprintf("%d of %d (%s)", v.Wave, len(v.Waves), strings.Join(v.Waves, ", "))
			}),
			col("Message", func(v upgradeView) string { return v.Message }),
			col("By", func(v upgradeView) string { return v.By }),
			col("Changed", func(v upgradeView) string { return ago(v.UpdatedAge) }),
		)
		if err != nil || len(v.Targets) == 0 {
			return err
		}
		fmt.Fprintln(a.Out)
	}
	return printList(a, v.Targets, func(t upgradeTargetView) string { return t.Cluster },
		col("CLUSTER", func(t upgradeTargetView) string { return t.Cluster }),
		col("WAVE", func(t upgradeTargetView) string { return fmt.Sprint(t.Wave) }),
		col("STATE", func(t upgradeTargetView) string { return t.State }),
		col("AGENT", func(t upgradeTargetView) string { return t.AgentVersion }),
		col("GOOD SINCE", func(t upgradeTargetView) string { return ago(t.GoodAge) }),
		col("MESSAGE", func(t upgradeTargetView) string { return output.OneLine(t.Message) }),
	)
}

func (a *app) agents() *cobra.Command {
	word := func(use, short string, call func(ctx context.Context, client *sdk.Client) (*connect.Response[hubv1.AgentUpgrade], error)) *cobra.Command {
		return &cobra.Command{
			Use: use, Short: short, Args: noArgs,
			RunE: a.call(func(c *cobra.Command, client *sdk.Client, _ []string) error {
				answer, err := call(c.Context(), client)
				if err != nil {
					return err
				}
				return a.showUpgrade(answer.Msg)
			}),
		}
	}
	return noun("agents", "Show and upgrade the agents", []string{"agent"},
		a.agentsUpgrade(),
		word("status", "Show the last agent upgrade, cluster by cluster", func(ctx context.Context, client *sdk.Client) (*connect.Response[hubv1.AgentUpgrade], error) {
			return client.Agents.UpgradeStatus(ctx, connect.NewRequest(&hubv1.UpgradeStatusRequest{}))
		}),
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

func (a *app) agentsUpgrade() *cobra.Command {
	request := &hubv1.StartUpgradeRequest{}
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
		Args: noArgs,
		RunE: a.call(func(c *cobra.Command, client *sdk.Client, _ []string) error {
			request.SoakMicros = soak.Microseconds()
			answer, err := client.Agents.StartUpgrade(c.Context(), connect.NewRequest(request))
			if err != nil {
				return err
			}
			return a.showUpgrade(answer.Msg)
		}),
	}
	f := c.Flags()
	f.StringVar(&request.Version, "to", "", "version of the agent (default: the hub's own)")
	f.StringVar(&request.Image, "image", "", "image for every cluster (default: each cluster's own registry, with the version as the tag)")
	f.StringSliceVar(&request.Waves, "waves", nil, "clusters upgraded after each wave, as numbers or percentages (default: 1,1%,10%,100%)")
	f.DurationVar(&soak, "soak", 0, "how long a wave must stay healthy before the next begins (default: 15m)")
	f.StringVar(&request.MaxUnavailable, "max-unavailable", "", "how many agents may upgrade at once, a number or a percentage (default: the whole wave)")
	return c
}
