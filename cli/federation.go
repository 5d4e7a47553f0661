package cli

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk"
)

type trustView struct {
	ID          string            `json:"id"`
	Name        string            `json:"name"`
	Issuer      string            `json:"issuer"`
	Audience    string            `json:"audience"`
	Claims      map[string]string `json:"claims"`
	Account     string            `json:"account"`
	Scopes      []string          `json:"scopes"`
	Lifetime    string            `json:"lifetime"`
	CreatedAt   string            `json:"createdAt"`
	CreatedBy   string            `json:"createdBy"`
	LastUsedAt  string            `json:"lastUsedAt"`
	LastUsedAge string            `json:"lastUsedAge"`
}

func (a *app) trustView(t *hubv1.Trust) trustView {
	return trustView{
		ID: t.GetId(), Name: t.GetName(), Issuer: t.GetIssuer(), Audience: t.GetAudience(), Claims: t.GetClaims(), Account: t.GetAccount(),
		Scopes: append([]string{}, t.GetScopes()...), Lifetime: (time.Duration(t.GetLifetimeMicros()) * time.Microsecond).String(),
		CreatedAt: stamp(t.GetCreatedAt()), CreatedBy: t.GetCreatedBy(), LastUsedAt: stamp(t.GetLastUsedAt()), LastUsedAge: a.age(t.GetLastUsedAt()),
	}
}

func (a *app) printTrusts(views []trustView) error {
	return printList(a, views, func(v trustView) string { return v.Name },
		col("NAME", func(v trustView) string { return v.Name }),
		col("ACCOUNT", func(v trustView) string { return v.Account }),
		col("SCOPES", func(v trustView) string { return strings.Join(v.Scopes, ",") }),
		col("ISSUER", func(v trustView) string { return v.Issuer }),
		col("AUDIENCE", func(v trustView) string { return v.Audience }),
		col("CLAIMS", func(v trustView) string {
			var pairs []string
			for _, key := range slices.Sorted(maps.Keys(v.Claims)) {
				pairs = append(pairs, key+"="+v.Claims[key])
			}
			return strings.Join(pairs, " ")
		}),
		col("LAST USED", func(v trustView) string { return ago(v.LastUsedAge) }),
	)
}

func (a *app) federation() *cobra.Command {
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the trusted issuers and their service accounts", Args: noArgs,
		RunE: a.call(func(c *cobra.Command, client *sdk.Client, _ []string) error {
			all, err := client.Federation.List(c.Context(), connect.NewRequest(&hubv1.ListTrustsRequest{}))
			if err != nil {
				return err
			}
			views := []trustView{}
			for _, t := range all.Msg.GetTrusts() {
				views = append(views, a.trustView(t))
			}
			return a.printTrusts(views)
		}),
	}
	remove := &cobra.Command{
		Use: "delete NAME…", Short: "Delete trusts; tokens already exchanged stay valid until they expire, within an hour", Args: atLeast(1),
		RunE: removes(a, "trust", "deleted", func(ctx context.Context, client *sdk.Client, name string) error {
			_, err := client.Federation.Delete(ctx, connect.NewRequest(&hubv1.DeleteTrustRequest{Name: name}))
			return err
		}),
	}
	return noun("federation", "Manage trust in the job tokens of CI systems", []string{"trusts"}, list, a.federationCreate(), remove)
}

func (a *app) federationCreate() *cobra.Command {
	request := &hubv1.CreateTrustRequest{}
	var lifetime time.Duration
	var caFile string
	c := &cobra.Command{
		Use: "create NAME", Short: "Let CI jobs act as a service account", Args: exactly(1),
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
		RunE: a.call(func(c *cobra.Command, client *sdk.Client, args []string) error {
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
			return a.printTrusts([]trustView{a.trustView(made.Msg)})
		}),
	}
	flags := c.Flags()
	flags.StringVar(&request.Issuer, "issuer", "", "issuer of the tokens (claim iss), an https URL")
	flags.StringVar(&request.Audience, "audience", "", "audience of the tokens (claim aud) for this hub")
	flags.StringVar(&request.Account, "account", "", "service account that the jobs act as")
	flags.StringToStringVar(&request.Claims, "claim", nil, "claim that the token must have, NAME=PATTERN; may be repeated")
	flags.StringSliceVar(&request.Scopes, "scope", nil, "scopes of the exchanged tokens: read, write or admin (default: read)")
	flags.DurationVar(&lifetime, "lifetime", 0, "lifetime of the exchanged tokens (default and maximum: 1h)")
	flags.StringVar(&caFile, "issuer-ca", "", "PEM file of the issuer's certificate authority (default: the system's)")
	return c
}

// exchange trades a CI job's token for a hub token.
func (a *app) exchange(c *cobra.Command, t target, file, trust string) (string, error) {
	token, err := a.secret("CI token", file)
	if err != nil {
		return "", err
	}
	client, err := sdk.New(sdk.Config{URL: t.URL, CAPEM: []byte(t.CA), UserAgent: "axle/" + buildinfo.Version})
	if err != nil {
		return "", err
	}
	made, err := client.Federation.Exchange(c.Context(), connect.NewRequest(&hubv1.ExchangeRequest{SubjectToken: token, Trust: trust}))
	if err != nil {
		return "", err
	}
	return made.Msg.GetSecret(), nil
}
