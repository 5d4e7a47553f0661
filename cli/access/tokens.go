package access

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/fields"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/internal/flagvalue"
	"github.com/axle-cd/axle/sdk"
)

// Tokens returns the command axle tokens.
func Tokens(a *command.App) *cobra.Command {
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List tokens; secrets are never shown again", Args: command.NoArgs,
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, _ []string) error {
			all, err := client.Tokens.List(c.Context(), connect.NewRequest(&hubv1.ListTokensRequest{}))
			if err != nil {
				return err
			}
			return command.PrintList(a, all.Msg.GetTokens(), (*hubv1.Token).GetId,
				command.Col("ID", (*hubv1.Token).GetId),
				command.Col("KIND", (*hubv1.Token).GetKind),
				command.Col("NAME", (*hubv1.Token).GetName),
				command.Col("OWNER", (*hubv1.Token).GetOwner),
				command.Col("SCOPES", func(v *hubv1.Token) string { return strings.Join(v.GetScopes(), ",") }),
				command.Col("EXPIRES", func(v *hubv1.Token) string { return fields.Stamp(v.GetExpiresAt()) }),
				command.Col("ENDS WITH", (*hubv1.Token).GetEndsWith),
				command.Col("MADE BY", (*hubv1.Token).GetMadeBy),
				command.Col("LAST USED", func(v *hubv1.Token) string { return command.Ago(a.Age(v.GetLastUsedAt())) }),
				command.Col("USES LEFT", func(v *hubv1.Token) string {
					if v.GetKind() != "bootstrap" {
						return ""
					}
					return strconv.Itoa(int(v.GetUsesLeft()))
				}),
			)
		}),
	}
	revoke := &cobra.Command{
		Use: "revoke ID…", Short: "Revoke tokens, within 5 s everywhere", Args: command.AtLeast(1),
		RunE: command.Removes(a, "token", "revoked", func(ctx context.Context, client *sdk.Client, name string) error {
			_, err := client.Tokens.Revoke(ctx, connect.NewRequest(&hubv1.RevokeTokenRequest{Id: name}))
			return err
		}),
	}
	return command.Noun("tokens", "Manage API tokens, and bootstrap tokens for new clusters", []string{"token"}, list, tokensCreate(a), revoke)
}

func tokensCreate(a *command.App) *cobra.Command {
	request := &hubv1.CreateTokenRequest{}
	boot := &hubv1.CreateBootstrapTokenRequest{}
	var bootstrap bool
	var expires time.Duration
	c := &cobra.Command{
		Use: "create [NAME]", Short: "Create a token and show it once",
		Long: `Create a token and show it once. Standard output has the secret only. With
--bootstrap, it is a token that new clusters register with. Clusters that register
with a token for more than one use wait for axle clusters approve.

The new token ends with the token or login that created it, and cannot outlive it.
For a token that outlives your login, open /login/account at the hub, which asks for
your password or passkey. For programs, use axle serviceaccounts token.`,
		Example: `  axle tokens create ci --scope read --expires 2h
  axle tokens create --bootstrap --name-pattern 'edge-*' --max-uses 50 --allow-tag tier=edge`,
		Args: command.AtMost(1),
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			if err := fitting(c, bootstrap, args); err != nil {
				return err
			}
			var made *connect.Response[hubv1.CreatedToken]
			var err error
			if bootstrap {
				boot.LifetimeMicros = expires.Microseconds()
				made, err = client.Tokens.CreateBootstrap(c.Context(), connect.NewRequest(boot))
			} else {
				request.Name, request.LifetimeMicros = args[0], expires.Microseconds()
				made, err = client.Tokens.Create(c.Context(), connect.NewRequest(request))
			}
			if err != nil {
				return err
			}
			token := made.Msg.GetToken()
			if output.Data(a.Output) {
				return a.Encode(fields.Of(token, a.Age).With("secret", made.Msg.GetSecret()))
			}
			fmt.Fprintf(a.Err, "token %s created, valid until %s; it is shown only once:\n", token.GetId(), untilOf(token))
			_, err = fmt.Fprintln(a.Out, made.Msg.GetSecret())
			return err
		}),
	}
	f := c.Flags()
	flagvalue.List(f, &request.Scopes, "scope", "scopes of the token: read, write or admin (default: your own)")
	f.DurationVar(&expires, "expires", 0, "lifetime of the token (default: 90 days, 24h with --bootstrap, or the rest of your own login)")
	f.BoolVar(&bootstrap, "bootstrap", false, "create a token that new clusters register with")
	f.StringVar(&boot.Project, "project", "", "project of the clusters (with --bootstrap)")
	f.StringVar(&boot.NamePattern, "name-pattern", "", "glob that the clusters' names must match (with --bootstrap)")
	flagvalue.Labels(f, &boot.AllowedTags, "allow-tag", "tags that the clusters may have, key=value or key=* (with --bootstrap)")
	f.Int32Var(&boot.MaxUses, "max-uses", 1, "how many clusters may register (with --bootstrap)")
	f.BoolVar(&boot.Approved, "approved", false, "clusters need no approval (with --bootstrap)")
	return c
}

// untilOf says how long a token is valid.
func untilOf(t *hubv1.Token) string {
	if t.GetEndsWith() == "" {
		return fields.Stamp(t.GetExpiresAt())
	}
	return fields.Stamp(t.GetExpiresAt()) + ", or until the token or login that created it ends"
}

// fitting rejects flags that do not apply to this kind of token: a limit that
// the user asked for would have no effect.
func fitting(c *cobra.Command, bootstrap bool, args []string) error {
	switch {
	case bootstrap && len(args) > 0:
		return exitcode.Usagef("a bootstrap token has no name; name the clusters that may use it with --name-pattern")
	case !bootstrap && len(args) == 0:
		return exitcode.Usagef("name the token after what will use it")
	}
	wrong, kind := []string{"project", "name-pattern", "allow-tag", "max-uses", "approved"}, "without --bootstrap"
	if bootstrap {
		wrong, kind = []string{"scope"}, "with --bootstrap"
	}
	for _, name := range wrong {
		if c.Flags().Changed(name) {
			return exitcode.Usagef("--%s does not work %s", name, kind)
		}
	}
	return nil
}
