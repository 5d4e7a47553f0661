package clusters

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/internal/flagvalue"
	"github.com/axle-cd/axle/internal/rule"
	"github.com/axle-cd/axle/sdk"
)

// shortCommit is how much of a commit is shown.
const shortCommit = 12

// madeOf is what a cluster was made of, empty for one that somebody else made.
func madeOf(c *hubv1.Cluster) string {
	o := c.GetOrigin()
	if o == nil {
		return ""
	}
	return fmt.Sprintf("%s at %.*s, Kubernetes %s", o.GetTemplate(), shortCommit, o.GetCommit(), o.GetVersion())
}

// madeOn is where the objects of such a cluster are.
func madeOn(c *hubv1.Cluster) string {
	o := c.GetOrigin()
	if o == nil {
		return ""
	}
	return fmt.Sprintf("%s, service %s", o.GetManagementCluster(), o.GetService())
}

// phaseOf is Cluster API's word for a cluster that was made from a template.
func phaseOf(a *command.App, c *hubv1.Cluster) string {
	s := c.GetOrigin().GetState()
	if s == nil {
		return ""
	}
	return fmt.Sprintf("%s, changed %s", cmp.Or(s.GetPhase(), "Unknown"), command.Ago(a.Age(s.GetReportedAt())))
}

// machines counts those of a pool, or of the control plane. A control plane without machines
// of its own has none.
func machines(m *hubv1.MadeMachines) string {
	if m == nil || m.GetDesired()+m.GetReady()+m.GetUpToDate() == 0 && len(m.GetVersions()) == 0 {
		return ""
	}
	text := fmt.Sprintf("%d/%d ready, %d up to date", m.GetReady(), m.GetDesired(), m.GetUpToDate())
	if len(m.GetVersions()) > 0 {
		text += ", " + strings.Join(m.GetVersions(), " and ")
	}
	return text
}

func poolsOf(c *hubv1.Cluster) string {
	var all []string
	for _, m := range c.GetOrigin().GetState().GetPools() {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s: %s %s", m.GetName(), cmp.Or(machines(m), "no machines"), m.GetPhase())))
	}
	return strings.Join(all, "; ")
}

// conditionsOf are the conditions that are not as they are to be, with their ages.
func conditionsOf(a *command.App, c *hubv1.Cluster) string {
	var all []string
	for _, one := range c.GetOrigin().GetState().GetConditions() {
		if (one.GetStatus() == "True") == slices.Contains(rule.UsuallyFalse, one.GetType()) {
			all = append(all, fmt.Sprintf("%s is %s since %s: %s", one.GetType(), one.GetStatus(), a.Age(one.GetSince()), cmp.Or(one.GetMessage(), one.GetReason())))
		}
	}
	return strings.Join(all, "; ")
}

// templateFlags adds the flags of a cluster that is made from a template.
func templateFlags(c *cobra.Command, from *hubv1.FromTemplate) {
	c.Flags().StringVar(&from.Template, "template", "", "make the cluster from this cluster template")
	variableFlags(c, &from.Set, &from.Variables)
	c.Flags().StringVar(&from.ManagementCluster, "on", "", "management cluster that makes it (default: the template's, if it has only one)")
}

// variableFlags adds the flags of the variables of a template.
func variableFlags(c *cobra.Command, set *map[string]string, variables *string) {
	flagvalue.Pairs(c.Flags(), set, "set", "variable of the template, KEY=VALUE, read as the type that the template gives it; a list or an object as JSON; may be repeated")
	c.Flags().StringVar(variables, "variables", "", "JSON object with variables of the template, beside --set")
}

// makeCluster makes a cluster from a template, and prints it.
func makeCluster(ctx context.Context, a *command.App, client *sdk.Client, request *hubv1.CreateClusterRequest, from *hubv1.FromTemplate) error {
	request.FromTemplate = from
	made, err := client.Clusters.Create(ctx, connect.NewRequest(request))
	if err != nil {
		return err
	}
	if !output.Human(a.Output) {
		return printCluster(a, made.Msg.GetCluster())
	}
	command.NoteAccount(ctx, a, client, made.Msg.GetCluster().GetProject())
	o := made.Msg.GetCluster().GetOrigin()
	_, err = fmt.Fprintf(a.Err, "cluster %s is made on %s by service %s; axle clusters get %s shows how far it is\n", request.GetName(), o.GetManagementCluster(), o.GetService(), request.GetName())
	return err
}
