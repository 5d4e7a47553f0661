package command

import (
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/cli/suggest"
	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/sdk"
)

// Streams are the input and outputs of the command.
type Streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
}

// App is one invocation of axle. Each command gets it when it is made; the flags
// are set when it runs.
type App struct {
	Streams
	// Args is the command line, without the program.
	Args []string
	// Getenv and Now are those of package os and time, or a test's.
	Getenv func(string) string
	Now    func() time.Time

	// The global flags. ContextName, HubURL, TokenFile and CAFile say which hub
	// and as whom; empty leaves it to the environment and the settings.
	ContextName string
	HubURL      string
	TokenFile   string
	CAFile      string
	// Output is the value of -o.
	Output string
	// Quiet asks for names only, and no progress.
	Quiet bool
	// NoHeaders leaves the titles of tables out.
	NoHeaders bool
}

// Client returns a client for the chosen hub.
func (a *App) Client() (*sdk.Client, error) {
	target, err := a.Target()
	if err != nil {
		return nil, err
	}
	return sdk.New(sdk.Config{URL: target.URL, Token: target.Token, CAPEM: []byte(target.CA), UserAgent: "axle/" + buildinfo.Version})
}

// Noun is a command that only groups other commands.
func Noun(use, short string, aliases []string, verbs ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Aliases: aliases,
		Args: suggest.Verb,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(verbs...)
	return c
}
