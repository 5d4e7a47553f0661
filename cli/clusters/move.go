package clusters

import (
	"fmt"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/sdk"
)

func moveCommand(a *command.App) *cobra.Command {
	request := &hubv1.MoveClusterRequest{Management: command.Management()}
	c := &cobra.Command{
		Use: "move NAME --project PROJECT", Short: "Move a cluster to another project, with its services of the project it leaves",
		Long: `Move a cluster to another project. Its services of the project that it leaves move
with it; those of other projects stay where they are. Role bindings on the former project
give no rights on the cluster any more, and those on the new one begin to. Global services
of one project leave or get the cluster. Bootstrap tokens for the cluster end.

With --plan nothing changes, and every change is listed. A move that deletes something
from the cluster is refused without --confirm. It needs the actions write on the cluster
and create in the new project.`,
		Example: "  axle clusters move edge-1 --project shop --plan\n  axle clusters move mgmt --project axle-system",
		Args:    command.Exactly(1),
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			request.Name = args[0]
			if request.GetProject() == "" {
				return exitcode.Usagef("name the project to move to: --project")
			}
			moved, err := client.Clusters.Move(c.Context(), connect.NewRequest(request))
			if err != nil {
				return err
			}
			if !output.Human(a.Output) {
				return command.PrintOne(a, moved.Msg, func(m *hubv1.MoveClusterResponse) string { return m.GetCluster().GetName() })
			}
			if err := command.PrintList(a, moved.Msg.GetChanges(), (*hubv1.MoveChange).GetObject, moveColumns...); err != nil {
				return err
			}
			if request.GetPlan() {
				_, err = fmt.Fprintf(a.Err, "cluster %s stays in project %s: this is a plan\n", args[0], moved.Msg.GetCluster().GetProject())
				return err
			}
			_, err = fmt.Fprintf(a.Err, "cluster %s is in project %s\n", args[0], moved.Msg.GetCluster().GetProject())
			return err
		}),
	}
	c.Flags().StringVar(&request.Project, "project", "", "the project to move to")
	c.Flags().BoolVar(&request.Plan, "plan", false, "change nothing, and list what would change")
	c.Flags().BoolVar(&request.Confirm, "confirm", false, "move although something is deleted from the cluster")
	command.TakeOverFlag(c, request.GetManagement())
	return c
}

var moveColumns = []command.Column[*hubv1.MoveChange]{
	command.Col("CHANGE", (*hubv1.MoveChange).GetKind),
	command.Col("OBJECT", (*hubv1.MoveChange).GetObject),
	command.Col("DELETES", func(c *hubv1.MoveChange) string {
		if c.GetDeletes() {
			return "yes"
		}
		return ""
	}),
	command.Col("MESSAGE", (*hubv1.MoveChange).GetMessage),
}
