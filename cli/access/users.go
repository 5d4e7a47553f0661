package access

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/fields"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/internal/flagvalue"
	"github.com/axle-cd/axle/sdk"
)

// Users returns the command axle users.
func Users(a *command.App) *cobra.Command {
	list := command.ListsManaged(a, "User", "List people and service accounts", "", func(a *command.App, all []*hubv1.User) error {
		return command.PrintList(a, all, (*hubv1.User).GetName,
			command.Col("NAME", (*hubv1.User).GetName),
			command.Col("KIND", (*hubv1.User).GetKind),
			command.Col("ADMIN", func(v *hubv1.User) string { return strconv.FormatBool(v.GetAdmin()) }),
			command.Col("GROUPS", func(v *hubv1.User) string { return strings.Join(v.GetGroups(), ",") }),
			command.Col("AGE", func(v *hubv1.User) string { return a.Age(v.GetCreatedAt()) }),
			command.Wide("MANAGED BY", command.ManagerOf[*hubv1.User]),
			command.Wide("ADMIN BY", func(v *hubv1.User) string { return command.NewManagerView(v.GetAdminManagedBy()).String() }),
		)
	})
	remove := command.Deletes(a, "User", "user", "deleted", "Delete users with their tokens, bindings and group memberships", "")
	remove.Use = "delete EMAIL…"
	return command.Noun("users", "Manage users and service accounts (administrators)", []string{"user"}, list, usersCreate(a), usersAdmin(a), remove)
}

func usersCreate(a *command.App) *cobra.Command {
	request := &hubv1.CreateUserRequest{Management: command.Management()}
	var expires time.Duration
	c := &cobra.Command{
		Use: "create EMAIL", Short: "Create a user before their first login", Args: command.Exactly(1),
		Long: `Create a user before their first login. A new user sees nothing until axle auth bind
gives access. With --token-scope, the command also creates a first API token. Only
the token goes to standard output, once.`,
		Example: `  axle users create ann@example.com
  axle users create ann@example.com --token-scope write --token-expires 8h > ann.token`,
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			request.Email, request.TokenLifetimeMicros = args[0], expires.Microseconds()
			made, err := client.Users.Create(c.Context(), connect.NewRequest(request))
			if err != nil {
				return err
			}
			name, token := made.Msg.GetUser().GetName(), made.Msg.GetToken()
			if output.Data(a.Output) {
				view := fields.Of(made.Msg.GetUser(), a.Age)
				if token != "" {
					view = view.With("token", token)
				}
				return a.Encode(view)
			}
			fmt.Fprintf(a.Err, "user %s created; give access with: axle auth bind --user %s --action read --project NAME\n", name, name)
			if token == "" {
				return nil
			}
			fmt.Fprintf(a.Err, "first token, valid until %s; it is shown only once:\n", fields.Stamp(made.Msg.GetTokenExpiresAt()))
			_, err = fmt.Fprintln(a.Out, token)
			return err
		}),
	}
	f := c.Flags()
	command.TakeOverFlag(c, request.GetManagement())
	f.BoolVar(&request.Admin, "admin", false, "make the user an administrator, who may do everything")
	flagvalue.List(f, &request.TokenScopes, "token-scope", "also create a first token with these scopes: read, write or admin")
	f.DurationVar(&expires, "token-expires", 0, "lifetime of the first token (default: 24h)")
	return c
}

func usersAdmin(a *command.App) *cobra.Command {
	var revoke bool
	management := command.Management()
	c := &cobra.Command{
		Use: "admin EMAIL", Short: "Grant or revoke administrator rights", Args: command.Exactly(1),
		Long:    "Make a user an administrator, or revoke that with --revoke. An administrator may do\neverything that the scopes of their token allow. The last administrator cannot be revoked.",
		Example: "  axle users admin ann@example.com\n  axle users admin ann@example.com --revoke",
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			u, err := client.Users.SetAdmin(c.Context(), connect.NewRequest(&hubv1.SetAdminRequest{Name: args[0], Admin: !revoke, Management: management}))
			if err != nil {
				return err
			}
			if output.Data(a.Output) {
				return a.Encode(u.Msg)
			}
			not := " an"
			if revoke {
				not = " no longer an"
			}
			fmt.Fprintf(a.Err, "%s is%s administrator now\n", args[0], not)
			return nil
		}),
	}
	command.TakeOverFlag(c, management)
	c.Flags().BoolVar(&revoke, "revoke", false, "revoke the administrator rights")
	return c
}
