package access

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/flagvalue"
	"github.com/axle-cd/axle/sdk"
)

// Providers returns the command axle providers.
func Providers(a *command.App) *cobra.Command {
	remove := command.Deletes(a, "LoginProvider", "login provider", "deleted", "Delete login providers, their sessions and the group memberships from them", "")
	unlink := &cobra.Command{
		Use: "unlink EMAIL", Short: "Remove the links between a user and their provider accounts", Args: command.Exactly(1),
		Long: `Remove the links between a user and their accounts at login providers, for example after the user moved to another
provider. The next account with the user's verified e-mail is then linked.`,
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			if _, err := client.Logins.Unlink(c.Context(), connect.NewRequest(&hubv1.UnlinkRequest{User: args[0]})); err != nil {
				return err
			}
			_, err := fmt.Fprintf(a.Err, "%s is no longer linked to a provider account\n", args[0])
			return err
		}),
	}
	return command.Noun("providers", "Manage the OpenID Connect issuers that people log in with", []string{"provider"}, providersList(a), providersCreate(a), providersTry(a), providersUpdate(a), remove, unlink)
}

func providersList(a *command.App) *cobra.Command {
	return command.ListsManaged(a, "LoginProvider", "List the login providers", "", func(a *command.App, all []*hubv1.Provider) error {
		return command.PrintList(a, all, (*hubv1.Provider).GetName,
			command.Col("NAME", (*hubv1.Provider).GetName),
			command.Col("ISSUER", (*hubv1.Provider).GetIssuer),
			command.Col("CLIENT", (*hubv1.Provider).GetClientId),
			command.Col("GROUPS CLAIM", (*hubv1.Provider).GetGroupsClaim),
			command.Col("GROUPS", func(v *hubv1.Provider) string {
				var all []string
				for _, from := range slices.Sorted(maps.Keys(v.GetGroups())) {
					all = append(all, from+"="+v.GetGroups()[from])
				}
				return strings.Join(all, ",")
			}),
			command.Col("DOMAINS", func(v *hubv1.Provider) string { return strings.Join(v.GetEmailDomains(), ",") }),
			command.Wide("MANAGED BY", command.ManagerOf[*hubv1.Provider]),
			command.Col("CALLBACK", (*hubv1.Provider).GetCallbackUrl),
		)
	})
}

// providerFlags are the fields of a provider as flags, with the field names
// that an update uses.
type providerFlags struct {
	provider           *hubv1.Provider
	secretFile, caFile string
}

var providerFields = map[string]string{
	"title": "title", "client-id": "client_id", "scope": "scopes", "groups-claim": "groups_claim", "group": "groups",
	"email-domain": "email_domains", "allow-unverified": "allow_unverified", "provider-ca": "ca_pem",
}

func (f *providerFlags) add(flags *pflag.FlagSet) {
	p := f.provider
	flags.StringVar(&p.ClientId, "client-id", "", "client ID of the hub at the provider")
	flags.StringVar(&f.secretFile, "client-secret-file", "", "file with the hub's client secret, - for standard input (default: none, a public client)")
	flags.StringVar(&p.Title, "title", "", "label of the login button (default: the name)")
	flagvalue.List(flags, &p.Scopes, "scope", "scopes to request besides openid (default: email, profile)")
	flags.StringVar(&p.GroupsClaim, "groups-claim", "", "claim that holds the groups, such as groups or realm_access.roles")
	flagvalue.Mapped(flags, &p.Groups, "group", "map a value of the claim to a group of the hub, VALUE=GROUP; may be repeated; the value may be a distinguished name of LDAP")
	flagvalue.List(flags, &p.EmailDomains, "email-domain", "e-mail domains that may log in (default: any)")
	flags.BoolVar(&p.AllowUnverified, "allow-unverified", false, "accept e-mail addresses that the provider did not verify")
	flags.StringVar(&f.caFile, "provider-ca", "", "file with the certificate authority to trust for the provider")
}

// addNew is add for a provider that may not exist yet.
func (f *providerFlags) addNew(c *cobra.Command) {
	f.add(c.Flags())
	c.Flags().StringVar(&f.provider.Issuer, "issuer", "", "URL of the issuer, exactly as in its tokens")
	_ = c.MarkFlagRequired("issuer")
	_ = c.MarkFlagRequired("client-id")
}

// read reads the files named by flags.
func (f *providerFlags) read(a *command.App) (secret string, err error) {
	if f.caFile != "" {
		pem, err := os.ReadFile(f.caFile)
		if err != nil {
			return "", errcode.New(errcode.Invalid, "read the provider's certificate authority: %w", err)
		}
		f.provider.CaPem = string(pem)
	}
	if f.secretFile == "" {
		return "", nil
	}
	return a.Secret("client secret", f.secretFile)
}

func providersCreate(a *command.App) *cobra.Command {
	f := providerFlags{provider: &hubv1.Provider{}}
	c := &cobra.Command{
		Use: "create NAME", Short: "Add a login provider (an OpenID Connect issuer)", Args: command.Exactly(1),
		Example: `  axle providers create okta --issuer https://example.okta.com --client-id 0oa1b2c3 --client-secret-file secret \
    --scope email,profile,groups --groups-claim groups --group platform=platform-team --email-domain example.com`,
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			f.provider.Name = args[0]
			secret, err := f.read(a)
			if err != nil {
				return err
			}
			made, err := client.Providers.Create(c.Context(), connect.NewRequest(&hubv1.CreateProviderRequest{Provider: f.provider, ClientSecret: secret}))
			if err != nil {
				return err
			}
			if output.Data(a.Output) {
				return a.Encode(made.Msg)
			}
			_, err = fmt.Fprintf(a.Err, "login provider %s created; enter this callback URL there: %s\nand, if it supports back-channel logout, this logout URL: %s\n", args[0], made.Msg.GetCallbackUrl(), made.Msg.GetLogoutUrl())
			return err
		}),
	}
	f.addNew(c)
	return c
}

func providersTry(a *command.App) *cobra.Command {
	f := providerFlags{provider: &hubv1.Provider{}}
	c := &cobra.Command{
		Use: "try NAME", Short: "Try a login provider before it is created or updated", Args: command.Exactly(1),
		Long: `Try a login provider before it is created or updated. The hub reads the issuer and gives an address that is valid for
10 minutes. Open it in a browser in which you are logged in to the hub, and log in at the provider: the page that follows shows its
claims, the groups that they map to, and whether a login would be refused. Nobody is logged in, and nothing is saved.

Without --client-secret-file the secret of an existing provider of this name is used.`,
		Example: `  axle providers try okta --issuer https://example.okta.com --client-id 0oa1b2c3 --client-secret-file secret \
    --groups-claim groups --group platform=platform-team`,
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			f.provider.Name = args[0]
			secret, err := f.read(a)
			if err != nil {
				return err
			}
			r := &hubv1.TryProviderRequest{Provider: f.provider}
			if f.secretFile != "" {
				r.ClientSecret = &secret
			}
			made, err := client.Providers.Try(c.Context(), connect.NewRequest(r))
			if err != nil {
				return err
			}
			if output.Data(a.Output) {
				return a.Encode(made.Msg)
			}
			_, err = fmt.Fprintf(a.Err, "the issuer answers; the callback URL %s must be configured there\nopen this in your browser within 10 minutes:\n", made.Msg.GetCallbackUrl())
			if err == nil {
				_, err = fmt.Fprintln(a.Out, made.Msg.GetUrl())
			}
			return err
		}),
	}
	f.addNew(c)
	return c
}

func providersUpdate(a *command.App) *cobra.Command {
	management := command.Management()
	f := providerFlags{provider: &hubv1.Provider{}}
	c := &cobra.Command{
		Use: "update NAME", Short: "Change the given fields of a login provider", Args: command.Exactly(1),
		Example: `  axle providers update okta --group platform=platform-team --group "CN=SRE,OU=Groups,DC=example,DC=com=sre"`,
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			f.provider.Name = args[0]
			secret, err := f.read(a)
			if err != nil {
				return err
			}
			r := &hubv1.UpdateProviderRequest{Provider: f.provider, Management: management}
			for flag, field := range providerFields {
				if c.Flags().Changed(flag) {
					r.Set = append(r.Set, field)
				}
			}
			if f.secretFile != "" {
				r.ClientSecret = &secret
			}
			if _, err := client.Providers.Update(c.Context(), connect.NewRequest(r)); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Err, "login provider %s changed\n", args[0])
			return err
		}),
	}
	command.TakeOverFlag(c, management)
	f.add(c.Flags())
	return c
}
