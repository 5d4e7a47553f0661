package bench

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/test/scale/push"
)

// benchPush is one run of the bench-push command.
type benchPush struct {
	config push.Config
	measurement
}

func pushCommand() *cobra.Command {
	var b benchPush
	c := &cobra.Command{
		Use:   "bench-push",
		Short: "Measure pushes from the webhook until they are applied",
		Long: `Start API servers with their agents, a hub and a Git server as processes, and
simulate more agents. Each push is timed from the delivery of the webhook until
each API server tells its watchers about the change. No cluster and no
repository is polled, so every change arrives by webhook and hint.`,
	}
	f := c.Flags()
	f.IntVar(&b.config.Pushes, "pushes", 100, "number of timed pushes")
	f.IntVar(&b.config.Clusters, "clusters", 3, "number of API servers, each with an agent")
	f.IntVar(&b.config.Agents, "agents", 100, "number of simulated agents; 0 leaves them out")
	return b.measures(c, b.run)
}

func (b *benchPush) run(ctx context.Context) error {
	self, err := player()
	if err != nil {
		return err
	}
	b.config.Player, b.config.Progress = self, b.say
	return pushSubject.measure(ctx, &b.measurement, func(ctx context.Context) (push.Result, error) { return push.Measure(ctx, b.config) })
}

var pushSubject = &subject[push.Result]{
	folder: "push", values: pushValues, budgets: true,
	head: func(f push.Result) string {
		return fmt.Sprintf("%d pushes over %d repositories, %d API servers, %d simulated agents", f.All.Count, f.Repositories, f.Clusters, f.Agents)
	},
	said: func(f push.Result) string {
		return fmt.Sprintf("from the delivery of the webhook; %d API servers, %d simulated agents", f.Clusters, f.Agents)
	},
	about: `
## push

Measured by ` + "`make bench-push`" + `: from the delivery of a webhook until an API server tells
its watchers about the change. Everything runs as processes on one machine, with TLS
to the hub. Nothing polls. The pushes are spread over enough repositories that none
has to wait: the hub looks at one repository four times at once, and then every 15 s.

Not shown: the way from a Git host to the hub; clusters without a tunnel, which wait
for their poll.
`,
}

// pushValues sets each number beside what is promised.
func pushValues(f push.Result) (all []value) {
	for _, one := range []struct {
		what     string
		spread   *push.Spread
		promised bool
	}{
		{"applied by an API server", &f.Applied, true},
		{"applied by the last of them", &f.All, true},
		{"content verified by a simulated agent", f.Played, false},
	} {
		if one.spread == nil {
			continue
		}
		p50, p99 := value{What: one.what + ", p50", Value: one.spread.P50, Unit: "s"}, value{What: one.what + ", p99", Value: one.spread.P99, Unit: "s"}
		if one.promised {
			p50, p99 = most(p50, 1), most(p99, 3)
		}
		all = append(all, p50, p99, value{What: fmt.Sprintf("%s, most of %d", one.what, one.spread.Count), Value: one.spread.Max, Unit: "s"})
	}
	return all
}
