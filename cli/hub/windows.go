package hub

import (
	"fmt"
	"strconv"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/limits"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/sdk"
)

func printWindows(a *command.App, all []*hubv1.SyncWindow) error {
	return command.PrintList(a, all, (*hubv1.SyncWindow).GetSchedule,
		command.Col("KIND", (*hubv1.SyncWindow).GetKind),
		command.Col("SCHEDULE", (*hubv1.SyncWindow).GetSchedule),
		command.Col("DURATION", (*hubv1.SyncWindow).GetDuration),
		command.Col("TIME ZONE", func(v *hubv1.SyncWindow) string {
			if v.GetTimeZone() == "" {
				return "UTC"
			}
			return v.GetTimeZone()
		}),
		command.Col("MANUAL SYNC", func(v *hubv1.SyncWindow) string { return strconv.FormatBool(v.GetManualSync()) }),
	)
}

func syncWindowsCommand(a *command.App) *cobra.Command {
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the sync windows of every service", Args: command.NoArgs,
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, _ []string) error {
			r, err := client.Hub.GetSyncWindows(c.Context(), connect.NewRequest(&hubv1.GetSyncWindowsRequest{}))
			if err != nil {
				return err
			}
			if by := r.Msg.GetManagedBy(); by != nil && output.Human(a.Output) && !a.Quiet {
				fmt.Fprintf(a.Err, "managed by %s\n", command.NewManagerView(by))
			}
			return printWindows(a, r.Msg.GetSyncWindows())
		}),
	}
	var none bool
	management := command.Management()
	set := &cobra.Command{
		Use: "set WINDOW...", Short: "Replace the sync windows that apply to every service",
		Long: `Replace the sync windows that apply to every service of every cluster. A service
also has the windows of its project and its own: all three must allow a sync. The
agents' own upgrades are not affected. A window is
` + limits.WindowForm + `.`,
		Example: "  axle hub sync-windows set 'deny:0 0 24 12 *:72h:Europe/Berlin:manual'\n  axle hub sync-windows set --none",
		RunE: func(c *cobra.Command, args []string) error {
			if none == (len(args) > 0) {
				return exitcode.Usagef("give windows, or --none to remove all")
			}
			windows, err := limits.ParseWindows(args)
			if err != nil {
				return err
			}
			client, err := a.Client()
			if err != nil {
				return err
			}
			if _, err := client.Hub.SetSyncWindows(c.Context(), connect.NewRequest(&hubv1.SyncWindowList{SyncWindows: windows, Management: management})); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Err, "sync windows that apply to every service: %d\n", len(windows))
			return err
		},
	}
	command.TakeOverFlag(set, management)
	set.Flags().BoolVar(&none, "none", false, "have none")
	return command.Noun("sync-windows", "Manage the sync windows of all services", nil, list, set)
}
