package login

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/fields"
	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/flagvalue"
	"github.com/axle-cd/axle/sdk"
)

// loginFlags say how axle login gets its token.
type loginFlags struct {
	name, setupFile, email string
	device, browser        bool
	federated, trust       string
	scopes                 []string
	expires                time.Duration
}

// Command returns the command axle login.
func Command(a *command.App) *cobra.Command {
	var f loginFlags
	c := &cobra.Command{
		Use:   "login URL",
		Short: "Log in to a hub, with a browser or a token",
		Long: `Log in to a hub and remember it. On a terminal this opens a browser, where you
log in and allow the command line to act as you. With --device it shows a code
that you enter in a browser on another machine. The resulting token is valid for
12 hours, or for --expires, at most 7 days.

A token of your own, such as one from axle tokens create, is read from
--token-file or standard input. It is never an argument, because other users of
the machine could read it there.

The first login to a new hub can exchange the setup token, which the hub wrote to
setup-token in its data folder, for an administrator's API token. A CI job can
exchange the token that its CI system signed, with --federated-token-file.`,
		Example: `  axle login https://hub.example.com
  axle login https://hub.example.com --device
  axle login https://hub.example.com --ca data/ca.pem --token-file token
  axle login http://127.0.0.1:8080 --setup-token-file data/setup-token --email me@example.com`,
		Args: command.Exactly(1),
		RunE: func(c *cobra.Command, args []string) error {
			parsed, err := url.Parse(args[0])
			if err != nil || parsed.Host == "" {
				return exitcode.Usagef("%q is not a URL such as https://hub.example.com", args[0])
			}
			t := command.Target{URL: strings.TrimSuffix(args[0], "/")}
			if path := cmp.Or(a.CAFile, a.Getenv("AXLE_CA_FILE")); path != "" {
				pem, err := os.ReadFile(path)
				if err != nil {
					return errcode.New(errcode.Invalid, "read the certificate authority: %w", err)
				}
				t.CA = string(pem)
			}
			if err := obtain(a, c, &t, f); err != nil {
				return err
			}
			return remember(a, c, cmp.Or(f.name, a.ContextName, parsed.Host), t)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.name, "name", "", "name of the context (default: the URL's host)")
	flags.StringVar(&f.setupFile, "setup-token-file", "", "file with the setup token of a new hub")
	flags.StringVar(&f.email, "email", "admin@localhost", "e-mail of the administrator that setup creates")
	flags.BoolVar(&f.device, "device", false, "show a code to enter in a browser on another machine")
	flags.BoolVar(&f.browser, "browser", false, "log in with a browser even if standard input is not a terminal")
	flagvalue.List(flags, &f.scopes, "scope", "scopes of the token: read, write or admin (default: all that you have)")
	flags.DurationVar(&f.expires, "expires", 0, "how long a login lasts (default: 12h; at most 168h)")
	flags.StringVar(&f.federated, "federated-token-file", "", "file with a token of a CI system that the hub trusts; exchanged for a hub token valid for at most 1h")
	flags.StringVar(&f.trust, "trust", "", "name of the trust to exchange it with, if several match")
	c.MarkFlagsMutuallyExclusive("device", "browser", "setup-token-file", "federated-token-file")
	return c
}

// obtain gets the token in the way that the flags or the terminal call for.
func obtain(a *command.App, c *cobra.Command, t *command.Target, f loginFlags) (err error) {
	ownToken := a.TokenFile != "" || !a.Interactive()
	switch {
	case f.setupFile != "":
		t.Token, err = setup(a, c, *t, f.setupFile, f.email)
	case f.federated != "":
		t.Token, err = exchange(a, c, *t, f.federated, f.trust)
	case f.device:
		t.Session = true
		t.Token, err = loginByDevice(c.Context(), a, *t, f)
	case f.browser || !ownToken:
		t.Session = true
		t.Token, err = loginByBrowser(c.Context(), a, *t, f)
	default:
		t.Token, err = a.Secret("token", a.TokenFile)
	}
	return err
}

// setup exchanges the setup token for an API token.
func setup(a *command.App, c *cobra.Command, t command.Target, file, email string) (string, error) {
	token, err := a.Secret("setup token", file)
	if err != nil {
		return "", err
	}
	client, err := sdk.New(sdk.Config{URL: t.URL, CAPEM: []byte(t.CA), UserAgent: "axle/" + buildinfo.Version})
	if err != nil {
		return "", err
	}
	made, err := client.Sessions.Setup(c.Context(), connect.NewRequest(&hubv1.SetupRequest{SetupToken: token, Email: email}))
	if err != nil {
		return "", err
	}
	return made.Msg.GetSecret(), nil
}

// remember checks the token and stores it as the current context.
func remember(a *command.App, c *cobra.Command, name string, t command.Target) error {
	client, err := sdk.New(sdk.Config{URL: t.URL, Token: t.Token, CAPEM: []byte(t.CA), UserAgent: "axle/" + buildinfo.Version})
	if err != nil {
		return err
	}
	who, err := client.Sessions.WhoAmI(c.Context(), connect.NewRequest(&hubv1.WhoAmIRequest{}))
	if err != nil {
		return err
	}
	if err := a.ChangeSettings(func(s *command.Settings) error {
		s.Contexts[name], s.Current = t, name
		return nil
	}); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Err, "logged in to %s as %s (context %s)\n", t.URL, who.Msg.GetName(), name)
	return err
}

// forget removes a context, unless another login took its name meanwhile.
func forget(s *command.Settings, name string, t command.Target) error {
	if s.Contexts[name] != t {
		return nil
	}
	delete(s.Contexts, name)
	if s.Current == name {
		s.Current = ""
		if left := command.SortedKeys(s.Contexts); len(left) > 0 {
			s.Current = left[0]
		}
	}
	return nil
}

// Logout returns the command axle logout.
func Logout(a *command.App) *cobra.Command {
	everywhere, all := false, &hubv1.EndSessionsRequest{}
	c := &cobra.Command{
		Use:   "logout [CONTEXT]",
		Short: "Log out of a hub and end the login there",
		Long: `Log out of a hub. A token that axle login got with a browser is revoked. A token
that you gave it stays valid until axle tokens revoke. With --everywhere all your
sessions and command-line logins end, in browsers too; with --tokens also your API
tokens. Tokens made with a login end with that login.`,
		Args: command.AtMost(1), ValidArgsFunction: command.CompleteHubs(a),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 && a.ContextName == "" && cmp.Or(a.HubURL, a.TokenFile) != "" {
				return exitcode.Usagef("logout does not work with --hub or --token-file; name the context, or remove these flags")
			}
			s, err := a.LoadSettings()
			if err != nil {
				return err
			}
			name := cmp.Or(a.ContextName, s.Current)
			if len(args) == 1 {
				name = args[0]
			}
			t, ok := s.Contexts[name]
			switch {
			case name == "":
				return errcode.New(errcode.NotFound, "you are not logged in to a hub")
			case !ok:
				return errcode.New(errcode.NotFound, "there is no context %q; the contexts are: %s", name, strings.Join(command.SortedKeys(s.Contexts), ", "))
			}
			if all.GetTokens() && !everywhere {
				return exitcode.Usagef("--tokens does not work without --everywhere; to revoke single tokens, use axle tokens revoke")
			}
			said := "the token stays valid until axle tokens revoke"
			if t.Session || everywhere {
				if said, err = endLogin(a, c, t, everywhere, all); err != nil {
					return err
				}
			}
			if err := a.ChangeSettings(func(s *command.Settings) error { return forget(s, name, t) }); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Err, "logged out of %s; %s\n", name, said)
			return err
		},
	}
	c.Flags().BoolVar(&everywhere, "everywhere", false, "end all your sessions and command-line logins")
	c.Flags().BoolVar(&all.Tokens, "tokens", false, "also revoke your API and bootstrap tokens (with --everywhere)")
	return c
}

type identityView struct {
	Kind       string   `json:"kind"`
	Name       string   `json:"name"`
	ID         string   `json:"id"`
	Admin      bool     `json:"admin"`
	TokenID    string   `json:"tokenId"`
	Scopes     []string `json:"scopes"`
	ExpiresAt  string   `json:"tokenExpiresAt"`
	Hub        string   `json:"hub"`
	HubVersion string   `json:"hubVersion"`
}

// WhoAmI returns the command axle whoami.
func WhoAmI(a *command.App) *cobra.Command {
	return &cobra.Command{
		Use:   "whoami",
		Short: "Show your identity at the hub",
		Args:  command.NoArgs,
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, _ []string) error {
			who, err := client.Sessions.WhoAmI(c.Context(), connect.NewRequest(&hubv1.WhoAmIRequest{}))
			if err != nil {
				return err
			}
			t, _ := a.Target()
			m := who.Msg
			view := identityView{m.GetKind(), m.GetName(), m.GetId(), m.GetAdmin(), m.GetTokenId(), m.GetScopes(), fields.Stamp(m.GetTokenExpiresAt()), t.URL, m.GetHubVersion()}
			return command.PrintOne(a, view, func(v identityView) string { return v.Name },
				command.Col("Name", func(v identityView) string { return v.Name }),
				command.Col("Kind", func(v identityView) string { return v.Kind }),
				command.Col("Administrator", func(v identityView) string { return yesNo(v.Admin) }),
				command.Col("Scopes", func(v identityView) string { return strings.Join(v.Scopes, ", ") }),
				command.Col("Token expires", func(v identityView) string { return v.ExpiresAt }),
				command.Col("Hub", func(v identityView) string { return v.Hub + " (" + v.HubVersion + ")" }),
			)
		}),
	}
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// exchange trades a CI job's token for a hub token.
func exchange(a *command.App, c *cobra.Command, t command.Target, file, trust string) (string, error) {
	token, err := a.Secret("CI token", file)
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
