package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/test/scale/operator"
)

// benchOperator is one run of the bench-operator command.
type benchOperator struct {
	config operator.Config
	measurement
}

func operatorCommand() *cobra.Command {
	var b benchOperator
	c := &cobra.Command{
		Use:   "bench-operator",
		Short: "Measure the operator with thousands of custom resources",
		Long: `Start an API server, a hub and simulated agents, create custom resources, and
start the operator. Measure what it takes until all are in the hub, what one
edit costs, and what the operator does while nothing changes.`,
		Example: "  dev bench-operator --crs 500",
	}
	f := c.Flags()
	f.IntVar(&b.config.Resources, "crs", 5000, "number of custom resources")
	f.DurationVar(&b.config.Idle, "idle", 2*time.Minute, "time for which the idle operator is measured")
	return b.measures(c, b.run)
}

func (b *benchOperator) run(ctx context.Context) error {
	self, err := player()
	if err != nil {
		return err
	}
	b.config.Player, b.config.Progress = self, b.say
	return operatorSubject.measure(ctx, &b.measurement, func(ctx context.Context) (operator.Result, error) { return operator.Measure(ctx, b.config) })
}

var operatorSubject = &subject[operator.Result]{
	folder: "operator", values: operatorValues,
	head: func(f operator.Result) string { return fmt.Sprintf("%d custom resources", f.Resources) },
	said: func(f operator.Result) string { return fmt.Sprintf("%d custom resources", f.Resources) },
	about: `
## operator

Measured by ` + "`make bench-operator`" + `: a real API server, a hub and the operator as
processes. Nine of ten custom resources are ServiceDeployments, 45 for each simulated
agent, which report all services as healthy; the others are Clusters, ServiceContexts
and one GitRepository. The custom resources exist before the operator starts. It runs
with its default times. The idle time follows a restart, so that the checks of all
custom resources (every 30 min) are spread over it, as they are in production. The
requests leave out the renewals of the lease, one every 2 s. A service that is not
ready is looked at after 10 s and then after twice that, so one edit includes calls
until its agent has applied it.

Not shown: what the hub takes for it; the memory of the API server; namespaces with
credentials of their own; Secrets.
`,
}

// operatorValues are the numbers of one run.
func operatorValues(f operator.Result) []value {
	return []value{
		{What: "load: CPU of the operator", Value: f.LoadCPU, Unit: "s"},
		{What: "load: until all are in the hub", Value: f.LoadSeconds, Unit: "s"},
		{What: "load: calls of the hub", Value: float64(f.LoadCalls)},
		{What: "load: requests to the API server", Value: float64(f.LoadRequests)},
		{What: "one edit: calls of the hub", Value: float64(f.EditCalls)},
		{What: "one edit: requests to the API server", Value: float64(f.EditRequests)},
		{What: "one edit: until the status says so", Value: f.EditSeconds, Unit: "s"},
		{What: "started again: CPU until it acts", Value: f.RestartCPU, Unit: "s"},
		{What: "started again: calls of the hub, with those of one edit", Value: float64(f.RestartCalls)},
		{What: "idle: cores", Value: f.IdleCores},
		{What: "idle: calls of the hub, a minute", Value: f.IdleCalls},
		{What: "idle: requests to the API server, a minute", Value: f.IdleRequests},
		{What: "memory, idle", Value: f.RSS, Unit: "MiB"},
		{What: "memory, largest", Value: f.Peak, Unit: "MiB"},
	}
}
