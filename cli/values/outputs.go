package values

import (
	"fmt"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/output"
)

// Outputs returns the command axle outputs.
func Outputs(a *command.App) *cobra.Command {
	list := command.ListsManaged(a, "Outputs", "List outputs with their keys", "", printValueSets)
	remove := command.Deletes(a, "Outputs", "outputs", "deleted", "Delete outputs that no service imports", "")
	return command.Noun("outputs", "Manage outputs, named values that services import", []string{"output"}, list, outputsPut(a), remove)
}

func outputsPut(a *command.App) *cobra.Command {
	var v valueFlags
	management := command.Management()
	c := &cobra.Command{
		Use: "put NAME [KEY=VALUE…]", Short: "Store outputs, in place of the present ones of that name", Args: command.AtLeast(1),
		Example: `  terraform output -json | jq 'map_values(.value)' | axle outputs put network -f -
  axle outputs put database host=db.internal --secret password=env:DB_PASSWORD`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 && v.file == "" && len(v.secrets) == 0 {
				// Storing nothing would delete all present values.
				return exitcode.Usagef("give something to store: KEY=VALUE, --secret or --file; to remove all: axle outputs delete %s", args[0])
			}
			outputs, err := newContext(a, v, args[0], args[1:])
			if err != nil {
				return err
			}
			client, err := a.Client()
			if err != nil {
				return err
			}
			one, err := client.Outputs.Put(c.Context(), connect.NewRequest(&hubv1.PutOutputsRequest{Outputs: outputs, Global: v.global, Management: management}))
			if err != nil {
				return err
			}
			fmt.Fprintf(a.Err, "outputs %s are at version %d, imported by %s\n", args[0], one.Msg.GetVersion(), output.Count(one.Msg.GetServices(), "service"))
			return printValueSet(a, one.Msg)
		},
	}
	v.flags(c)
	command.TakeOverFlag(c, management)
	v.home(c, "let only services of this project import them (default: unchanged; all projects for new outputs)")
	return c
}
