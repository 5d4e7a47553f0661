// Package rollouts is the command axle rollouts: the waves in which a changed
// template of a global service reaches its clusters. cli puts it into the tree of
// commands; plans are flags of axle globalservices.
package rollouts

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/fields"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk"
)

// view is a rollout as -o json and -o yaml show it.
type view struct {
	GlobalService string           `json:"globalService"`
	Version       string           `json:"version"`
	Previous      string           `json:"previous"`
	Phase         string           `json:"phase"`
	Wave          int32            `json:"wave"`
	Waves         []string         `json:"waves"`
	States        map[string]int32 `json:"states"`
	Message       string           `json:"message"`
	StartedBy     string           `json:"startedBy"`
	StartedAt     string           `json:"startedAt"`
	StartedAge    string           `json:"startedAge"`
	Clusters      []cluster        `json:"clusters"`
}

type cluster struct {
	Cluster string `json:"cluster"`
	Wave    int32  `json:"wave"`
	State   string `json:"state"`
	Message string `json:"message"`
}

func newView(a *command.App, name string, r *hubv1.Rollout) view {
	v := view{
		GlobalService: name, Version: r.GetVersion(), Previous: r.GetPrevious(), Phase: r.GetPhase(), Wave: r.GetWave(), Waves: append([]string{}, r.GetPlan().GetWaves()...),
		States: r.GetStates(), Message: r.GetMessage(), StartedBy: r.GetStartedBy(), StartedAt: fields.Stamp(r.GetCreatedAt()), StartedAge: a.Age(r.GetCreatedAt()), Clusters: []cluster{},
	}
	if v.States == nil {
		v.States = map[string]int32{}
	}
	for _, c := range r.GetClusters() {
		v.Clusters = append(v.Clusters, cluster{c.GetCluster(), c.GetWave(), c.GetState(), c.GetMessage()})
	}
	return v
}

// progress is the wave and how its clusters are, on one line.
func (v view) progress() string {
	var states []string
	for _, name := range slices.Sorted(maps.Keys(v.States)) {
		states = append(states, fmt.Sprintf("%s %d", name, v.States[name]))
	}
	return fmt.Sprintf("wave %d of %d: %s", v.Wave, len(v.Waves), cmp.Or(strings.Join(states, ", "), "no clusters"))
}

func columns() []output.Column[view] {
	return []output.Column[view]{
		command.Col("GLOBAL SERVICE", func(v view) string { return v.GlobalService }),
		command.Col("PHASE", func(v view) string { return v.Phase }),
		command.Col("PROGRESS", view.progress),
		command.Col("STARTED", func(v view) string { return command.Ago(v.StartedAge) }),
		command.Col("MESSAGE", func(v view) string { return v.Message }),
	}
}

func show(a *command.App, v *view) error {
	return command.PrintOne(a, *v, func(v view) string { return v.GlobalService },
		command.Col("Global service", func(v view) string { return v.GlobalService }),
		command.Col("Rolls out", func(v view) string { return v.Version + ", in place of " + v.Previous }),
		command.Col("Phase", func(v view) string { return v.Phase }),
		command.Col("Progress", view.progress),
		command.Col("Waves", func(v view) string { return strings.Join(v.Waves, ", ") }),
		command.Col("Message", func(v view) string { return v.Message }),
		command.Col("Clusters", func(v view) string {
			var lines []string
			for _, c := range v.Clusters {
				if c.Message != "" {
					lines = append(lines, fmt.Sprintf("wave %d, %s: %s", c.Wave, c.State, c.Message))
				}
			}
			return strings.Join(lines, "\n")
		}),
		command.Col("Started", func(v view) string { return fmt.Sprintf("by %s %s", v.StartedBy, command.Ago(v.StartedAge)) }),
	)
}

func get(ctx context.Context, a *command.App, client *sdk.Client, name string) (view, error) {
	answer, err := client.GlobalServices.GetRollout(ctx, connect.NewRequest(&hubv1.GetRolloutRequest{Name: name}))
	if err != nil {
		return view{}, err
	}
	return newView(a, name, answer.Msg), nil
}

// begun is get for a global service that rolled out in waves once.
func begun(ctx context.Context, a *command.App, client *sdk.Client, name string) (*view, error) {
	v, err := get(ctx, a, client, name)
	if err == nil && v.Phase == "" {
		err = errcode.New(errcode.NotFound, "no change of global service %s was rolled out in waves; axle globalservices apply --wave 1,25%%,100%% does that with the next change", name)
	}
	return &v, err
}

// Command returns the command axle rollouts.
func Command(a *command.App) *cobra.Command {
	word := func(use, short string, call func(ctx context.Context, client *sdk.Client, name string) error) *cobra.Command {
		return &cobra.Command{
			Use: use + " GLOBAL-SERVICE", Short: short, Args: command.Exactly(1), Example: "  axle rollouts " + use + " log-shipper",
			RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
				if err := call(c.Context(), client, args[0]); err != nil {
					return err
				}
				v, err := begun(c.Context(), a, client, args[0])
				if err != nil {
					return err
				}
				return show(a, v)
			}),
		}
	}
	shows := &cobra.Command{
		Use: "get GLOBAL-SERVICE…", Short: "Show the last rollouts of global services", Args: command.AtLeast(1),
		Example: "  axle rollouts get log-shipper\n  axle rollouts get log-shipper -o json | jq .clusters",
		RunE: command.Shows(a, func(ctx context.Context, client *sdk.Client, name string) (*connect.Response[view], error) {
			v, err := begun(ctx, a, client, name)
			return connect.NewResponse(v), err
		}, show, func(a *command.App, all []*view) error {
			views := make([]view, len(all))
			for i, v := range all {
				views[i] = *v
			}
			return command.PrintList(a, views, func(v view) string { return v.GlobalService }, columns()...)
		}),
	}
	return command.Noun("rollouts", "Show and steer the waves in which changed global services reach their clusters", []string{"rollout"},
		list(a), shows,
		word("pause", "Pause a rollout: no further cluster gets the change", func(ctx context.Context, client *sdk.Client, name string) error {
			_, err := client.GlobalServices.PauseRollout(ctx, connect.NewRequest(&hubv1.PauseRolloutRequest{Name: name}))
			return err
		}),
		word("resume", "Resume a rollout that was paused or stopped; its failures are accepted", func(ctx context.Context, client *sdk.Client, name string) error {
			_, err := client.GlobalServices.ResumeRollout(ctx, connect.NewRequest(&hubv1.ResumeRolloutRequest{Name: name}))
			return err
		}),
		word("abort", "Take all clusters back to what they had before", func(ctx context.Context, client *sdk.Client, name string) error {
			_, err := client.GlobalServices.AbortRollout(ctx, connect.NewRequest(&hubv1.AbortRolloutRequest{Name: name}))
			return err
		}),
	)
}

// list shows the rollouts that run, or were aborted and not replaced.
func list(a *command.App) *cobra.Command {
	var watch, done bool
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the rollouts that are not done", Args: command.NoArgs,
		Example: "  axle rollouts list --watch\n  axle rollouts list --all",
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, _ []string) error {
			read := func(ctx context.Context) ([]view, error) {
				views := []view{}
				all, err := command.ListGlobals(ctx, client)
				if err != nil {
					return nil, err
				}
				for _, g := range all {
					if !g.GetRollingOut() && !done {
						continue
					}
					v, err := get(ctx, a, client, g.GetName())
					if err != nil {
						return nil, err
					}
					switch {
					case v.Phase != "":
					case !g.GetRollingOut():
						continue // its changes were not made in waves
					default:
						v.Phase, v.Message = "Starting", "it begins within moments"
					}
					views = append(views, v)
				}
				return views, nil
			}
			return command.Follow(c.Context(), a, watch, output.Watched[view]{
				Read: read, Name: func(v view) string { return v.GlobalService }, Columns: columns(),
				Open: command.Opens(client, &hubv1.Topics{Hints: []string{"rollouts"}}, func(*hubv1.WatchFleetResponse) []view { return nil }),
			})
		}),
	}
	command.WatchFlag(c, &watch)
	c.Flags().BoolVar(&done, "all", false, "list those that are done, too")
	return c
}
