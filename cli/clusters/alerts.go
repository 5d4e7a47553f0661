package clusters

import (
	"cmp"
	"fmt"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/sdk"
)

func alertsCommand(a *command.App) *cobra.Command {
	request := &hubv1.ListClusterAlertsRequest{}
	c := &cobra.Command{
		Use: "alerts NAME", Short: "List the alerts of a cluster that fire", Args: command.Exactly(1),
		Long: `List the alerts of a cluster that fire, the most urgent first. The hub asks the cluster's
Alertmanager and Prometheus (axle metrics sources NAME shows them) and merges what both have.
Silenced and inhibited alerts come last.

You see the alerts of the namespaces in which the cluster lets you read the logs of pods. Alerts
without a namespace are for those who may do so in all of them.`,
		Example: "  axle clusters alerts edge-1\n  axle clusters alerts edge-1 --namespace shop\n  axle clusters alerts edge-1 -o json | jq -r '.[] | select(.severity == \"critical\") | .runbookUrl'",
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			request.Cluster = args[0]
			answer, err := client.ClusterAlerts.List(c.Context(), connect.NewRequest(request))
			if err != nil {
				return err
			}
			m := answer.Msg
			if err := command.PrintList(a, m.GetAlerts(), (*hubv1.ClusterAlert).GetName, alertColumns(a)...); err != nil {
				return err
			}
			for _, notice := range m.GetNotices() {
				fmt.Fprintln(a.Err, notice)
			}
			if n := m.GetPending(); n > 0 {
				fmt.Fprintf(a.Err, "%d more fire if their conditions last\n", n)
			}
			if output.Human(a.Output) && len(m.GetAlerts()) == 0 && m.GetNamespaces() != nil && !m.GetNamespaces().GetAll() {
				fmt.Fprintf(a.Err, "you see the alerts of these namespaces: %s\n", cmp.Or(strings.Join(m.GetNamespaces().GetNames(), ", "), "none"))
			}
			return nil
		}),
	}
	c.Flags().StringVarP(&request.Namespace, "namespace", "n", "", "only alerts of this namespace")
	return c
}

func alertColumns(a *command.App) []command.Column[*hubv1.ClusterAlert] {
	return []command.Column[*hubv1.ClusterAlert]{
		command.Col("ALERT", (*hubv1.ClusterAlert).GetName),
		command.Col("SEVERITY", (*hubv1.ClusterAlert).GetSeverity),
		command.Col("STATE", (*hubv1.ClusterAlert).GetState),
		command.Col("NAMESPACE", (*hubv1.ClusterAlert).GetNamespace),
		command.Col("OBJECT", func(r *hubv1.ClusterAlert) string { return cmp.Or(r.GetPod(), r.GetService()) }),
		command.Ages("AGE", func(r *hubv1.ClusterAlert) string { return a.Age(r.GetSince()) }),
		command.Col("SUMMARY", (*hubv1.ClusterAlert).GetSummary),
		command.Wide("RUNBOOK", (*hubv1.ClusterAlert).GetRunbookUrl),
		command.Wide("SILENCED BY", func(r *hubv1.ClusterAlert) string {
			var by []string
			for _, s := range r.GetSilences() {
				by = append(by, s.GetCreatedBy()+": "+s.GetComment())
			}
			return strings.Join(by, "; ")
		}),
	}
}
