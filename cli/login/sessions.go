package login

import (
	"fmt"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/fields"
	"github.com/axle-cd/axle/sdk"
)

// Sessions returns the command axle sessions.
func Sessions(a *command.App) *cobra.Command {
	var user string
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List open browser sessions and command-line logins", Args: command.NoArgs,
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, _ []string) error {
			all, err := client.Logins.ListSessions(c.Context(), connect.NewRequest(&hubv1.ListSessionsRequest{User: user}))
			if err != nil {
				return err
			}
			return command.PrintList(a, all.Msg.GetSessions(), (*hubv1.Session).GetId,
				command.Col("ID", (*hubv1.Session).GetId),
				command.Col("KIND", (*hubv1.Session).GetKind),
				command.Col("NAME", (*hubv1.Session).GetName),
				command.Col("FROM", (*hubv1.Session).GetSource),
				command.Col("SINCE", func(v *hubv1.Session) string { return fields.Stamp(v.GetCreatedAt()) }),
				command.Col("LAST USED", func(v *hubv1.Session) string { return command.Ago(a.Age(v.GetLastUsedAt())) }),
				command.Col("EXPIRES", func(v *hubv1.Session) string { return fields.Stamp(v.GetExpiresAt()) }),
			)
		}),
	}
	list.Flags().StringVar(&user, "user", "", "e-mail of another user (administrators)")
	return command.Noun("sessions", "Manage open browser sessions and command-line logins", []string{"session"}, list, endSessions(a))
}

func endSessions(a *command.App) *cobra.Command {
	var all bool
	request := &hubv1.EndSessionsRequest{}
	c := &cobra.Command{
		Use: "end [ID…]", Short: "End sessions and the tokens they made, within 5 s everywhere",
		Example: "  axle sessions end tok_abc\n  axle sessions end --all --user leaver@example.com\n  axle sessions end --all --tokens --user leaver@example.com",
		Args: func(c *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return exitcode.Usagef("give the IDs of sessions, or --all")
			}
			if request.GetTokens() && !all {
				return exitcode.Usagef("--tokens does not work without --all; to revoke single tokens, use axle tokens revoke")
			}
			return nil
		},
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			if all {
				ended, err := client.Logins.EndSessions(c.Context(), connect.NewRequest(request))
				if err != nil {
					return err
				}
				_, err = fmt.Fprintln(a.Err, endedText(request, ended.Msg.GetEnded()))
				return err
			}
			return command.Each(args, func(id string) error {
				if _, err := client.Logins.EndSession(c.Context(), connect.NewRequest(&hubv1.EndSessionRequest{Id: id})); err != nil {
					return err
				}
				_, err := fmt.Fprintf(a.Err, "session %s ended\n", id)
				return err
			})
		}),
	}
	c.Flags().BoolVar(&all, "all", false, "end all sessions of the user")
	c.Flags().StringVar(&request.User, "user", "", "e-mail of another user (administrators, with --all)")
	c.Flags().BoolVar(&request.Tokens, "tokens", false, "also revoke API and bootstrap tokens (with --all)")
	return c
}

// endedText says what ended.
func endedText(r *hubv1.EndSessionsRequest, n int32) string {
	switch {
	case r.GetTokens() && n == 1:
		return "1 session, command-line login or token ended"
	case r.GetTokens():
		return fmt.Sprintf("%d sessions, command-line logins and tokens ended", n)
	}
	what := "sessions and command-line logins"
	if n == 1 {
		what = "session or command-line login"
	}
	return fmt.Sprintf("%d %s ended; API tokens stay valid unless you give --tokens", n, what)
}
