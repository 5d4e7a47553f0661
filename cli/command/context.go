package command

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/internal/atomicfile"
	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk"
)

// Target is one hub and the credentials for it.
type Target struct {
	URL   string `json:"url"`
	Token string `json:"token,omitempty"`
	// CA is PEM certificates to trust in place of the system's.
	CA string `json:"ca,omitempty"`
	// Session is true if axle login obtained the token; axle logout then ends
	// it.
	Session bool `json:"session,omitempty"`
}

// Anonymous is a client without a token.
func (t Target) Anonymous() (*sdk.Client, error) {
	return sdk.New(sdk.Config{URL: t.URL, CAPEM: []byte(t.CA), UserAgent: "axle/" + buildinfo.Version})
}

// Settings is the file of contexts, by their names, with the name of the current
// one. Only its owner can read it.
type Settings struct {
	Current  string            `json:"current"`
	Contexts map[string]Target `json:"contexts"`
}

// settingsPath is $AXLE_CONFIG, or axle/config.yaml in the user's configuration
// folder.
func (a *App) settingsPath() (string, error) {
	if path := a.Getenv("AXLE_CONFIG"); path != "" {
		return path, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", errcode.New(errcode.Invalid, "no folder for settings: %w; set AXLE_CONFIG", err)
	}
	return filepath.Join(dir, "axle", "config.yaml"), nil
}

// LoadSettings reads the file of contexts. A missing file is an empty one.
func (a *App) LoadSettings() (Settings, error) {
	s := Settings{Contexts: map[string]Target{}}
	path, err := a.settingsPath()
	if err != nil {
		return s, err
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, errcode.New(errcode.Invalid, "read settings: %w", err)
	}
	if err := yaml.UnmarshalStrict(data, &s); err != nil {
		return s, errcode.New(errcode.Invalid, "settings %s: %w; fix or remove the file and log in again", path, err)
	}
	if s.Contexts == nil {
		s.Contexts = map[string]Target{}
	}
	return s, nil
}

// SaveSettings replaces the file of contexts.
func (a *App) SaveSettings(s Settings) error {
	path, err := a.settingsPath()
	if err != nil {
		return err
	}
	data, err := yaml.Marshal(s)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return errcode.New(errcode.Invalid, "write settings: %w", err)
	}
	return atomicfile.Write(path, data, 0o600)
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
