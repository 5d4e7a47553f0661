package access

import (
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/flagvalue"
	"github.com/axle-cd/axle/sdk"
)

func printTrusts(a *command.App, all []*hubv1.Trust) error {
	return command.PrintList(a, all, (*hubv1.Trust).GetName,
		command.Col("NAME", (*hubv1.Trust).GetName),
		command.Col("ACCOUNT", (*hubv1.Trust).GetAccount),
		command.Col("SCOPES", func(v *hubv1.Trust) string { return strings.Join(v.GetScopes(), ",") }),
		command.Col("ISSUER", (*hubv1.Trust).GetIssuer),
		command.Col("AUDIENCE", (*hubv1.Trust).GetAudience),
		command.Col("CLAIMS", func(v *hubv1.Trust) string {
			var pairs []string
			for _, key := range slices.Sorted(maps.Keys(v.GetClaims())) {
				pairs = append(pairs, key+"="+v.GetClaims()[key])
			}
			return strings.Join(pairs, " ")
		}),
		command.Wide("MANAGED BY", command.ManagerOf[*hubv1.Trust]),
		command.Col("LAST USED", func(v *hubv1.Trust) string { return command.Ago(a.Age(v.GetLastUsedAt())) }),
	)
}

// Federation returns the command axle federation.
func Federation(a *command.App) *cobra.Command {
	list := command.ListsManaged(a, "FederationTrust", "List the trusted issuers and their service accounts", "", printTrusts)
	remove := command.Deletes(a, "FederationTrust", "trust", "deleted", "Delete trusts; tokens already exchanged stay valid until they expire, within an hour", "")
	return command.Noun("federation", "Manage trust in the job tokens of CI systems", []string{"trusts"}, list, federationCreate(a), remove)
}

func federationCreate(a *command.App) *cobra.Command {
	request := &hubv1.CreateTrustRequest{Management: command.Management()}
	var lifetime time.Duration
	var caFile string
	c := &cobra.Command{
		Use: "create NAME", Short: "Let CI jobs act as a service account", Args: command.Exactly(1),
		Long: `Let CI jobs act as a service account, without a secret in the CI system. A job
exchanges the token that its CI system signed for a hub token, valid for at most
an hour.

Each --claim must match the whole claim: a glob, in which * also matches "/", or
a regular expression between slashes. Choose claims that only your jobs have: an
issuer such as GitHub signs tokens for the jobs of all its customers.`,
		Example: `  axle federation create github --account ci --scope write \
    --issuer https://token.actions.githubusercontent.com --audience https://hub.example.com \
    --claim repository=acme/web --claim ref=refs/heads/main
  axle login https://hub.example.com --federated-token-file token.jwt`,
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			request.Name, request.LifetimeMicros = args[0], lifetime.Microseconds()
			if caFile != "" {
				pem, err := os.ReadFile(caFile)
				if err != nil {
					return errcode.New(errcode.Invalid, "read the issuer's certificate authority: %w", err)
				}
				request.CaPem = string(pem)
			}
			made, err := client.Federation.Create(c.Context(), connect.NewRequest(request))
			if err != nil {
				return err
			}
			return printTrusts(a, []*hubv1.Trust{made.Msg})
		}),
	}
	flags := c.Flags()
	flags.StringVar(&request.Issuer, "issuer", "", "issuer of the tokens (claim iss), an https URL")
	flags.StringVar(&request.Audience, "audience", "", "audience of the tokens (claim aud) for this hub")
	flags.StringVar(&request.Account, "account", "", "service account that the jobs act as")
	flagvalue.Pairs(flags, &request.Claims, "claim", "claim that the token must have, NAME=PATTERN; may be repeated")
	flagvalue.List(flags, &request.Scopes, "scope", "scopes of the exchanged tokens: read, write or admin (default: read)")
	flags.DurationVar(&lifetime, "lifetime", 0, "lifetime of the exchanged tokens (default and maximum: 1h)")
	command.TakeOverFlag(c, request.GetManagement())
	flags.StringVar(&caFile, "issuer-ca", "", "PEM file of the issuer's certificate authority (default: the system's)")
	return c
}
