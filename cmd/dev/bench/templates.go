package bench

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/test/scale/templates"
)

// benchTemplates is one run of the bench-capi command.
type benchTemplates struct {
	config templates.Config
	measurement
}

func templatesCommand() *cobra.Command {
	var b benchTemplates
	c := &cobra.Command{
		Use:   "bench-capi",
		Short: "Measure clusters that are made from a template",
		Long: `Start a management cluster with the core manager of Cluster API, an agent and a hub,
make clusters from the template of the test bed at once, and destroy them. Measure the
time until each has an agent of its own, and the processor time for one cluster.`,
		Example: "  dev bench-capi --clusters 3",
	}
	f := c.Flags()
	f.IntVar(&b.config.Clusters, "clusters", 10, "number of clusters that are made at once")
	return b.measures(c, b.run)
}

func (b *benchTemplates) run(ctx context.Context) error {
	b.config.Progress = b.say
	return templatesSubject.measure(ctx, &b.measurement, func(ctx context.Context) (templates.Result, error) { return templates.Measure(ctx, b.config) })
}

var templatesSubject = &subject[templates.Result]{
	folder: "templates", values: templatesValues,
	head: func(f templates.Result) string { return fmt.Sprintf("%d clusters", f.Clusters) },
	said: func(f templates.Result) string { return fmt.Sprintf("%d clusters, made at once", f.Clusters) },
	about: `
## clusters from a template

Measured by ` + "`make bench-capi`" + `: a hub on SQLite, the core manager of Cluster API and the
agent of the management cluster as processes, and the provider of the test bed, whose
control planes are real API servers on this machine. All clusters are wanted at once,
with one machine each. The seconds are from the request until the cluster's own agent
is connected. The processor time for one cluster is what the whole run took until then,
for all clusters, divided by their number.

Not shown: the time of a cloud, which takes minutes for a control plane and a machine;
here the seconds are those of an API server that starts, and of all processes that share
two cores. The agents of the new clusters, the API servers, etcd and the provider are not
counted. What a cluster costs afterwards, while nothing changes, is not either.
`,
}

// templatesValues are the numbers of one run.
func templatesValues(f templates.Result) []value {
	return []value{
		{What: "until a cluster is connected, p50", Value: f.CreateP50, Unit: "s"},
		{What: "CPU of the core manager, a cluster", Value: f.CoreCPU, Unit: "s"},
		{What: "CPU of the management cluster's agent, a cluster", Value: f.AgentCPU, Unit: "s"},
		{What: "CPU of the hub, a cluster", Value: f.HubCPU, Unit: "s"},
	}
}
