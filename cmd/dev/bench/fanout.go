package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/test/scale/fanout"
)

// benchFanout is one run of the bench-fanout command.
type benchFanout struct {
	config fanout.Config
	agents bool
	out    string
	name   string
	progress
}

func fanoutCommand() *cobra.Command {
	var b benchFanout
	c := &cobra.Command{
		Use:   "bench-fanout",
		Short: "Measure a change of a global service on thousands of clusters",
		Long: `Start a hub on Postgres and simulated agents, make a global service on all of
their clusters, edit it, and commit to its source. Measure what the hub and the
database take until each cluster's service has its revision, and when the last
agent has applied it.

The command prints a table. Its last line is one JSON object. With --name it
records the result.`,
		Example: "  dev bench-fanout --clusters 200",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			b.started = time.Now()
			return b.run(c.Context())
		},
	}
	f := c.Flags()
	f.IntVar(&b.config.Clusters, "clusters", 1000, "number of clusters")
	f.DurationVar(&b.config.Interval, "poll", 2*time.Minute, "interval of the agents' polls")
	f.BoolVar(&b.agents, "agents", true, "simulate the agents; with =false only the hub's own work is measured")
	f.StringVar(&b.name, "name", "", "record the result under this name")
	f.StringVar(&b.out, "out", filepath.Join("docs", "benchmarks"), "folder of the records")
	return c
}

func (b *benchFanout) run(ctx context.Context) error {
	if err := recordable(ctx, b.name); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if b.config.Progress = b.say; b.agents {
		b.config.Player = []string{self, "fleet-player"}
	}
	commit := revision(ctx)
	found, err := fanout.Measure(ctx, b.config)
	if err != nil {
		return err
	}
	r := &fanoutRecord{Name: b.name, Date: b.started.UTC().Format(time.RFC3339), Commit: commit, Machine: thisMachine(), Result: found}
	if b.name != "" {
		if err := errors.Join(writeRecord(filepath.Join(b.out, "fanout"), r.Name, r), (&bench{out: b.out}).index()); err != nil {
			return err
		}
	}
	fmt.Printf("\n%d clusters, %d cores\n", found.Clusters, r.Machine.Cores)
	if err := printValues(r.values(), ""); err != nil {
		return err
	}
	return lastLine(found)
}

// fanoutRecord is what is kept of one run.
type fanoutRecord struct {
	Name    string        `json:"name"`
	Date    string        `json:"date"`
	Commit  string        `json:"commit"`
	Machine machine       `json:"machine"`
	Result  fanout.Result `json:"result"`
}

// values are the numbers of one run.
func (r *fanoutRecord) values() []value {
	var all []value
	for _, one := range []struct {
		what string
		c    fanout.Change
	}{{"edit", r.Result.Edit}, {"commit", r.Result.Change}} {
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

// fanoutPage writes the tables of all recorded runs.
func fanoutPage(page *bytes.Buffer, dir string) error {
	records, err := readRecords[fanoutRecord](dir)
	if err != nil || len(records) == 0 {
		return err
	}
	page.WriteString(`
## fanout

Measured by ` + "`make bench-fanout`" + `: a hub on Postgres, both as processes, and simulated
agents. A global service runs on all clusters. It is edited, and then its source gets a
commit. CPU and rows of the feed are those until each target has its revision. Rows are
those of services, revisions, specs, contents, heads and the feed.

Not shown: what the hub takes to answer the agents that fetch and report the change,
which is spread over their poll interval.
`)
	for _, r := range records {
		m := r.Machine
		fmt.Fprintf(page, "\n### %s\n\n%d clusters; %s, commit %.12s; %s, %d cores, load %s.\n\n| measured | value |\n|---|---|\n",
			r.Name, r.Result.Clusters, r.Date, r.Commit, m.CPU, m.Cores, m.Load)
		for _, v := range r.values() {
			fmt.Fprintf(page, "| %s | %s |\n", v.What, v.number())
		}
	}
	return nil
}
