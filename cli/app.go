package cli

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

// app is one invocation of axle. Each command gets it when it is made; the flags
// are set when it runs.
type app struct {
	Streams
	// args is the command line, without the program.
	args []string
	// getenv and now are those of package os and time, or a test's.
	getenv func(string) string
	now    func() time.Time

	// The global flags. contextName, hubURL, tokenFile and caFile say which hub
	// and as whom; empty leaves it to the environment and the settings.
	contextName string
	hubURL      string
	tokenFile   string
	caFile      string
	// output is the value of -o.
	output string
	// quiet asks for names only, and no progress.
	quiet bool
	// noHeaders leaves the titles of tables out.
	noHeaders bool
}

// client returns a client for the chosen hub.
func (a *app) client() (*sdk.Client, error) {
	target, err := a.target()
	if err != nil {
		return nil, err
	}
	return sdk.New(sdk.Config{URL: target.URL, Token: target.Token, CAPEM: []byte(target.CA), UserAgent: "axle/" + buildinfo.Version})
}

// noun is a command that only groups other commands.
func noun(use, short string, aliases []string, verbs ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Aliases: aliases,
		Args: suggest.Verb,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(verbs...)
	return c
}
