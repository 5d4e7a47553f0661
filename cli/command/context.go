package command

import (
	"cmp"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/settings"
)

// Target is one hub and the credentials for it.
type Target = settings.Target

// Anonymous is a client for a target without its token.
func Anonymous(t Target) (*sdk.Client, error) {
	return sdk.New(sdk.Config{URL: t.URL, CAPEM: []byte(t.CA), UserAgent: "axle/" + buildinfo.Version})
}

// Settings is the file of contexts, by their names, with the name of the current
// one.
type Settings = settings.Settings

// LoadSettings reads the file of contexts. A missing file is an empty one.
func (a *App) LoadSettings() (Settings, error) { return settings.Load(a.Getenv) }

// ChangeSettings changes the file of contexts.
func (a *App) ChangeSettings(change func(*Settings) error) error {
	return settings.Change(a.Getenv, change)
}

// Target picks the hub: from the flags, then the environment, then the named or
// current context.
func (a *App) Target() (Target, error) {
	chosen := Target{URL: cmp.Or(a.HubURL, a.Getenv("AXLE_HUB_URL"))}
	if chosen.URL == "" {
		s, err := a.LoadSettings()
		if err != nil {
			return Target{}, err
		}
		name := cmp.Or(a.ContextName, a.Getenv("AXLE_CONTEXT"), s.Current)
		if name == "" {
			return Target{}, errcode.New(errcode.Unauthorized, "you are not logged in to a hub")
		}
		var ok bool
		if chosen, ok = s.Contexts[name]; !ok {
			return Target{}, errcode.New(errcode.Invalid, "no context %q; there are: %s", name, strings.Join(SortedKeys(s.Contexts), ", "))
		}
	}
	if path := cmp.Or(a.TokenFile, a.Getenv("AXLE_TOKEN_FILE")); path != "" {
		token, err := os.ReadFile(path)
		if err != nil {
			return Target{}, errcode.New(errcode.Invalid, "read the token: %w", err)
		}
		chosen.Token = strings.TrimSpace(string(token))
	} else if token := a.Getenv("AXLE_TOKEN"); token != "" {
		chosen.Token = token
	}
	if path := cmp.Or(a.CAFile, a.Getenv("AXLE_CA_FILE")); path != "" {
		ca, err := os.ReadFile(path)
		if err != nil {
			return Target{}, errcode.New(errcode.Invalid, "read the certificate authority: %w", err)
		}
		chosen.CA = string(ca)
	}
	return chosen, nil
}

// CompleteHubs offers the names of the hubs that one is logged in to.
func CompleteHubs(a *App) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		s, err := a.LoadSettings()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return SortedKeys(s.Contexts), cobra.ShellCompDirectiveNoFileComp
	}
}
