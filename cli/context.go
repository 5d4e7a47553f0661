package cli

import (
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

// target is one hub and the credentials for it.
type target struct {
	URL   string `json:"url"`
	Token string `json:"token,omitempty"`
	// CA is PEM certificates to trust in place of the system's.
	CA string `json:"ca,omitempty"`
	// Session is true if axle login obtained the token; axle logout then ends
	// it.
	Session bool `json:"session,omitempty"`
}

// anonymous is a client without a token.
func (t target) anonymous() (*sdk.Client, error) {
	return sdk.New(sdk.Config{URL: t.URL, CAPEM: []byte(t.CA), UserAgent: "axle/" + buildinfo.Version})
}

// settings is the file of contexts, by their names, with the name of the current
// one. Only its owner can read it.
type settings struct {
	Current  string            `json:"current"`
	Contexts map[string]target `json:"contexts"`
}

// settingsPath is $AXLE_CONFIG, or axle/config.yaml in the user's configuration
// folder.
func (a *app) settingsPath() (string, error) {
	if path := a.getenv("AXLE_CONFIG"); path != "" {
		return path, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", errcode.New(errcode.Invalid, "no folder for settings: %w; set AXLE_CONFIG", err)
	}
	return filepath.Join(dir, "axle", "config.yaml"), nil
}

// loadSettings reads the file of contexts. A missing file is an empty one.
func (a *app) loadSettings() (settings, error) {
	s := settings{Contexts: map[string]target{}}
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
		s.Contexts = map[string]target{}
	}
	return s, nil
}

// saveSettings replaces the file of contexts.
func (a *app) saveSettings(s settings) error {
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

// first returns the first text that is not empty.
func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// target picks the hub: from the flags, then the environment, then the named or
// current context.
func (a *app) target() (target, error) {
	chosen := target{URL: first(a.hubURL, a.getenv("AXLE_HUB_URL"))}
	if chosen.URL == "" {
		s, err := a.loadSettings()
		if err != nil {
			return target{}, err
		}
		name := first(a.contextName, a.getenv("AXLE_CONTEXT"), s.Current)
		if name == "" {
			return target{}, errcode.New(errcode.Unauthorized, "you are not logged in to a hub")
		}
		var ok bool
		if chosen, ok = s.Contexts[name]; !ok {
			return target{}, errcode.New(errcode.Invalid, "no context %q; there are: %s", name, strings.Join(sortedKeys(s.Contexts), ", "))
		}
	}
	if path := first(a.tokenFile, a.getenv("AXLE_TOKEN_FILE")); path != "" {
		token, err := os.ReadFile(path)
		if err != nil {
			return target{}, errcode.New(errcode.Invalid, "read the token: %w", err)
		}
		chosen.Token = strings.TrimSpace(string(token))
	} else if token := a.getenv("AXLE_TOKEN"); token != "" {
		chosen.Token = token
	}
	if path := first(a.caFile, a.getenv("AXLE_CA_FILE")); path != "" {
		ca, err := os.ReadFile(path)
		if err != nil {
			return target{}, errcode.New(errcode.Invalid, "read the certificate authority: %w", err)
		}
		chosen.CA = string(ca)
	}
	return chosen, nil
}

// completeHubs offers the names of the hubs that one is logged in to.
func completeHubs(a *app) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		s, err := a.loadSettings()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return sortedKeys(s.Contexts), cobra.ShellCompDirectiveNoFileComp
	}
}
