package cli

import (
	"context"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/cli/examples"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/cli/suggest"
	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/plain"
	"github.com/axle-cd/axle/sdk"
)

// Streams are the input and outputs of the command.
type Streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
}

// app is one invocation.
type app struct {
	Streams
	// args is the command line, without the program.
	args   []string
	getenv func(string) string
	now    func() time.Time

	// Global flags.
	contextName string
	output      string
	hubURL      string
	tokenFile   string
	caFile      string
	quiet       bool
	noHeaders   bool
}

func usagef(format string, args ...any) error { return exitcode.Usagef(format, args...) }

// Run executes the command line and returns the exit code.
func Run(ctx context.Context, args []string, streams Streams) int {
	// Text from hubs, clusters and repositories must not control the terminal.
	streams.Out, streams.Err = &plain.Writer{To: streams.Out}, &plain.Writer{To: streams.Err}
	a := &app{Streams: streams, args: args, getenv: os.Getenv, now: time.Now}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitcode.Done
	}
	if isCobraUsage(err) {
		err = exitcode.Usage(err)
	}
	return exitcode.Write(streams.Err, err, exitcode.Note{
		Command: command.CommandPath(), Hint: a.hint(command, err), JSON: a.output == output.JSON || exitcode.IsUsage(err) && wantsJSON(args),
	})
}

// wantsJSON finds -o json in a command line that could not be read to its end.
func wantsJSON(args []string) bool {
	for i, arg := range args {
		switch arg {
		case "--":
			return false
		case "-ojson", "-o=json", "--output=json":
			return true
		case "-o", "--output":
			return i+1 < len(args) && args[i+1] == output.JSON
		}
	}
	return false
}

// isCobraUsage recognises cobra's own errors about unknown commands and groups
// of flags. Errors about single flags and arguments are wrapped where they are
// declared.
func isCobraUsage(err error) bool {
	return slices.ContainsFunc([]string{"unknown command", "required flag", "if any flags in the group"}, func(begin string) bool { return strings.HasPrefix(err.Error(), begin) })
}

// hint suggests the next step when the hub's message cannot know it.
func (a *app) hint(command *cobra.Command, err error) string {
	if errcode.Of(err) != errcode.Unauthorized || command.Name() == "login" {
		return ""
	}
	t, targetErr := a.target()
	switch {
	case targetErr != nil:
		return "Log in with: axle login URL"
	case first(a.tokenFile, a.getenv("AXLE_TOKEN_FILE"), a.getenv("AXLE_TOKEN")) != "":
		return "The token came from --token-file or the environment; use another one, or log in with: axle login " + t.URL
	}
	return "Log in again with: axle login " + t.URL
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "axle",
		Short: "Deploy from Git to every cluster, and see what runs where",
		Long: `axle is the client of an Axle hub: it registers clusters and repositories, deploys
services to clusters, and shows what runs where, with the age of each fact.`,
		Example: `  axle login https://hub.example.com --token-file token
  axle repos add fleet https://git.example.com/fleet.git
  axle clusters connect edge-1 --kubeconfig edge-1.yaml
  axle services create web --cluster edge-1 --repo fleet --ref main --folder apps/web --wait
  axle services list`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       buildinfo.Version,
		Args:          suggest.Verb,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
		// A wrong -o is found before anything is done.
		PersistentPreRunE: func(*cobra.Command, []string) error { return exitcode.Usage(output.Check(a.output)) },
	}
	root.SetVersionTemplate("axle {{.Version}}\n")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return exitcode.Usage(suggest.Flag(c, err)) })
	flags := root.PersistentFlags()
	flags.StringVar(&a.contextName, "context", "", "name of the logged-in hub to use (env AXLE_CONTEXT)")
	flags.StringVarP(&a.output, "output", "o", "table", "output format: table, wide, json, yaml, name, jsonpath=TEMPLATE or go-template=TEMPLATE")
	flags.BoolVar(&a.noHeaders, "no-headers", false, "print tables without their titles")
	flags.StringVar(&a.hubURL, "hub", "", "URL of the hub, instead of a context (env AXLE_HUB_URL)")
	flags.StringVar(&a.tokenFile, "token-file", "", "file with the API token, instead of a context's (env AXLE_TOKEN_FILE, or AXLE_TOKEN)")
	flags.StringVar(&a.caFile, "ca", "", "file with the certificate authority to trust (env AXLE_CA_FILE)")
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "print only names or IDs, and no progress")
	root.AddCommand(
		a.login(), a.logout(), a.whoami(), a.version(), a.completion(root),
		a.clusters(), a.repos(), a.services(), a.projects(), a.webhooks(), a.contexts(), a.outputs(), a.config(), a.agents(), a.tokens(), a.serviceAccounts(), a.federation(), a.audit(), a.users(), a.groups(), a.auth(), a.sessions(), a.providers(), a.hub(), a.events(), a.apply(), a.diff(), a.kubectl(), logs(a), docs(),
	)
	_ = root.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(output.Formats, cobra.ShellCompDirectiveNoFileComp))
	_ = root.RegisterFlagCompletionFunc("context", completeHubs(a))
	root.CompletionOptions.DisableDefaultCmd = true
	examples.Add(root)
	a.completeNames(root)
	askFirst(a, root)
	return root
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

// Argument checks whose errors count as usage.
func noArgs(c *cobra.Command, args []string) error { return exitcode.Usage(cobra.NoArgs(c, args)) }

func exactly(n int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != n {
			return usagef("%q takes %s, got %d: %s", c.CommandPath(), output.Count(n, "argument"), len(args), c.UseLine())
		}
		return nil
	}
}

func atLeast(n int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < n {
			return usagef("%q takes at least %s: %s", c.CommandPath(), output.Count(n, "argument"), c.UseLine())
		}
		return nil
	}
}

func atMost(n int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) > n {
			return usagef("%q takes at most %s: %s", c.CommandPath(), output.Count(n, "argument"), c.UseLine())
		}
		return nil
	}
}

// client returns a client for the chosen hub.
func (a *app) client() (*sdk.Client, error) {
	target, err := a.target()
	if err != nil {
		return nil, err
	}
	return sdk.New(sdk.Config{URL: target.URL, Token: target.Token, CAPEM: []byte(target.CA), UserAgent: "axle/" + buildinfo.Version})
}
