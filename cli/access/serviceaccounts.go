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

func printServiceAccounts(a *command.App, all []*hubv1.ServiceAccount) error {
	return command.PrintList(a, all, (*hubv1.ServiceAccount).GetName,
		command.Col("NAME", (*hubv1.ServiceAccount).GetName),
		command.Col("ADMIN", func(v *hubv1.ServiceAccount) string { return strconv.FormatBool(v.GetAdmin()) }),
		command.Col("TOKENS", func(v *hubv1.ServiceAccount) string { return strconv.Itoa(int(v.GetTokens())) }),
		command.Col("LAST USED", func(v *hubv1.ServiceAccount) string { return command.Ago(a.Age(v.GetLastUsedAt())) }),
		command.Wide("MANAGED BY", command.ManagerOf[*hubv1.ServiceAccount]),
		command.Col("CREATED", func(v *hubv1.ServiceAccount) string { return fields.Stamp(v.GetCreatedAt()) }),
	)
}

// ServiceAccounts returns the command axle serviceaccounts.
func ServiceAccounts(a *command.App) *cobra.Command {
	management := command.Management()
	list := command.ListsManaged(a, "ServiceAccount", "List service accounts", "", printServiceAccounts)
	request := &hubv1.CreateServiceAccountRequest{Management: management}
	create := &cobra.Command{
		Use: "create NAME", Short: "Create an identity for a program", Args: command.Exactly(1),
		Long: `Create an identity for a program. It has no rights until a role binding or --admin
gives some, and no token until you create one or trust a CI system's tokens for it
(axle federation).`,
		Example: `  axle serviceaccounts create ci
  axle serviceaccounts token ci --name pipeline --scope write --expires 720h`,
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			request.Name = args[0]
			made, err := client.ServiceAccounts.Create(c.Context(), connect.NewRequest(request))
			if err != nil {
				return err
			}
			return printServiceAccounts(a, []*hubv1.ServiceAccount{made.Msg})
		}),
	}
	create.Flags().BoolVar(&request.Admin, "admin", false, "make it an administrator, limited only by the scopes of its tokens")
	remove := command.Deletes(a, "ServiceAccount", "service account", "deleted", "Delete service accounts; their tokens end within 5 s everywhere", "")
	command.TakeOverFlag(create, management)
	return command.Noun("serviceaccounts", "Manage service accounts, the identities of programs", []string{"serviceaccount", "sa"}, list, create, serviceAccountToken(a), remove)
}

func serviceAccountToken(a *command.App) *cobra.Command {
	request := &hubv1.CreateServiceAccountTokenRequest{}
	var expires time.Duration
	c := &cobra.Command{
		Use: "token ACCOUNT", Short: "Create a token for a service account and show it once", Args: command.Exactly(1),
		Example: `  axle serviceaccounts token ci --name pipeline --scope write --expires 720h >token`,
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			request.Account, request.LifetimeMicros = args[0], expires.Microseconds()
			if request.Name == "" {
				request.Name = args[0]
			}
			made, err := client.ServiceAccounts.CreateToken(c.Context(), connect.NewRequest(request))
			if err != nil {
				return err
			}
			if !output.Human(a.Output) {
				view := fields.Of(made.Msg.GetToken(), a.Age).With("secret", made.Msg.GetSecret())
				return command.PrintOne(a, view, func(fields.Object) string { return made.Msg.GetSecret() })
			}
			fmt.Fprintf(a.Err, "token %s of %s, scopes %s, ends %s; it is shown only once\n", made.Msg.GetToken().GetId(), args[0],
				strings.Join(made.Msg.GetToken().GetScopes(), ","), fields.Stamp(made.Msg.GetToken().GetExpiresAt()))
			_, err = fmt.Fprintln(a.Out, made.Msg.GetSecret())
			return err
		}),
	}
	flags := c.Flags()
	flags.StringVar(&request.Name, "name", "", "name of the token, such as its purpose (default: the account's name)")
	flagvalue.List(flags, &request.Scopes, "scope", "scopes of the token: read, write or admin (default: read)")
	flags.DurationVar(&expires, "expires", 0, "lifetime of the token (default: 2160h, 90 days)")
	return c
}
