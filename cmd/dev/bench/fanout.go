package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/test/scale/fanout"
)

// benchFanout is one run of the bench-fanout command.
type benchFanout struct {
	config fanout.Config
	agents bool
	measurement
}

func fanoutCommand() *cobra.Command {
	var b benchFanout
	c := &cobra.Command{
		Use:   "bench-fanout",
		Short: "Measure a change of a global service on thousands of clusters",
		Long: `Start a hub on Postgres and simulated agents, make a global service on all of
their clusters, edit it, and commit to its source. Measure what the hub and the
database take until each cluster's service has its revision, and when the last
agent has applied it.`,
		Example: "  dev bench-fanout --clusters 200",
	}
	f := c.Flags()
	f.IntVar(&b.config.Clusters, "clusters", 1000, "number of clusters")
	f.DurationVar(&b.config.Interval, "poll", 2*time.Minute, "interval of the agents' polls")
	f.BoolVar(&b.agents, "agents", true, "simulate the agents; with =false only the hub's own work is measured")
	return b.measures(c, b.run)
}

func (b *benchFanout) run(ctx context.Context) error {
	self, err := player()
	if err != nil {
		return err
	}
	if b.config.Progress = b.say; b.agents {
		b.config.Player = self
	}
	return fanoutSubject.measure(ctx, &b.measurement, func(ctx context.Context) (fanout.Result, error) { return fanout.Measure(ctx, b.config) })
}

var fanoutSubject = &subject[fanout.Result]{
	folder: "fanout", values: fanoutValues,
	head: func(f fanout.Result) string { return fmt.Sprintf("%d clusters", f.Clusters) },
	said: func(f fanout.Result) string { return fmt.Sprintf("%d clusters", f.Clusters) },
	about: `
## fanout

Measured by ` + "`make bench-fanout`" + `: a hub on Postgres, both as processes, and simulated
agents. A global service runs on all clusters. It is edited, and then its source gets a
commit. CPU and rows of the feed are those until each target has its revision. Rows are
those of services, revisions, specs, contents, heads and the feed.

Not shown: what the hub takes to answer the agents that fetch and report the change,
which is spread over their poll interval.
`,
}

// fanoutValues are the numbers of one run.
func fanoutValues(f fanout.Result) []value {
	var all []value
	for _, one := range []struct {
		what string
		c    fanout.Change
	}{{"edit", f.Edit}, {"commit", f.Change}} {
		all = append(all,
			value{What: one.what + ": CPU of the hub", Value: one.c.HubCPU, Unit: "s"},
			value{What: one.what + ": CPU of the database", Value: one.c.DatabaseCPU, Unit: "s"},
			value{What: one.what + ": rows written", Value: float64(one.c.Rows)},
			value{What: one.what + ": rows of the feed", Value: float64(one.c.Feed)},
			value{What: one.what + ": until each target has its revision", Value: one.c.Seconds, Unit: "s"},
			value{What: one.what + ": until the last agent has reported it", Value: one.c.LastAgent, Unit: "s"},
		)
	}
	return all
}
