package values

import (
	"context"
	"fmt"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/sdk"
)

// Outputs returns the command axle outputs.
func Outputs(a *command.App) *cobra.Command {
	listed, management := &hubv1.ListOutputsRequest{}, command.Management()
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List outputs with their keys", Args: command.NoArgs,
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, _ []string) error {
			all, err := client.Outputs.List(c.Context(), connect.NewRequest(listed))
			if err != nil {
				return err
			}
			return printValueSets(a, all.Msg.GetOutputs())
		}),
	}
	remove := &cobra.Command{
		Use: "delete NAME…", Aliases: []string{"rm"}, Short: "Delete outputs that no service imports", Args: command.AtLeast(1),
		RunE: command.Removes(a, "outputs", "deleted", func(ctx context.Context, client *sdk.Client, name string) error {
			_, err := client.Outputs.Delete(ctx, connect.NewRequest(&hubv1.DeleteOutputsRequest{Name: name, Management: management}))
			return err
		}),
	}
	command.ManagedByFlag(list, &listed.ManagedByTool)
	command.TakeOverFlag(remove, management)
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
