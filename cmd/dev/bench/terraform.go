package bench

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/test/scale/terraform"
)

// benchTerraform is one run of the bench-terraform command.
type benchTerraform struct {
	config terraform.Config
	measurement
}

func terraformCommand() *cobra.Command {
	var b benchTerraform
	c := &cobra.Command{
		Use:   "bench-terraform",
		Short: "Measure the Terraform provider with hundreds of services",
		Long: `Start a hub, apply services on 5 clusters with the real terraform, plan again, and
destroy all. Measure time, CPU of the hub, and calls of the hub.`,
		Example: "  dev bench-terraform --resources 100",
	}
	f := c.Flags()
	f.IntVar(&b.config.Resources, "resources", 500, "number of services")
	return b.measures(c, b.run)
}

func (b *benchTerraform) run(ctx context.Context) error {
	b.config.Progress = b.say
	return terraformSubject.measure(ctx, &b.measurement, func(ctx context.Context) (terraform.Result, error) { return terraform.Measure(ctx, b.config) })
}

var terraformSubject = &subject[terraform.Result]{
	folder: "terraform", values: terraformValues,
	head: func(f terraform.Result) string { return fmt.Sprintf("%d services", f.Resources) },
	said: func(f terraform.Result) string { return fmt.Sprintf("%d services", f.Resources) },
	about: `
## terraform

Measured by ` + "`make bench-terraform`" + `: a hub process on SQLite, and the real terraform
with its ten resources at once. The services are on 5 clusters without agents, and follow
one repository. An apply asks the hub about each service twice: its plan makes a dry run.
A refresh is a plan in which nothing changes. Seconds include the start of terraform.

Not shown: secrets of services, whose hashes are one call more each.
`,
}

// terraformValues are the numbers of one run.
func terraformValues(f terraform.Result) []value {
	return []value{
		{What: "apply", Value: f.ApplyS, Unit: "s"},
		{What: "apply: CPU of the hub", Value: f.ApplyHubCPU, Unit: "s"},
		{What: "apply: calls of the hub, a service", Value: f.CallsPerApply},
		{What: "refresh", Value: f.RefreshS, Unit: "s"},
		{What: "refresh: CPU of the hub", Value: f.RefreshHubCPU, Unit: "s"},
		{What: "refresh: calls of the hub, a service", Value: f.CallsPerRefresh},
		{What: "destroy", Value: f.DestroyS, Unit: "s"},
	}
}
