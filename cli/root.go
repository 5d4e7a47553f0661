package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/plain"
	"github.com/axle-cd/axle/sdk"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
	// exitNever is returned by --wait if waiting cannot help.
	exitNever = 3
	// exitDiffers and exitNoDiff are returned by diffs, as by kubectl diff.
	exitDiffers = 1
	exitNoDiff  = 2
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
	getenv func(string) string
	now    func() time.Time

	// Global flags.
	contextName string
	output      string
	hubURL      string
	tokenFile   string
	caFile      string
	quiet       bool
}

// usageError marks an error in how the command was called.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

// exitError is an error with its own exit code. Without a text it is not a
// failure but an answer.
type exitError struct {
	err  error
	code int
}

func (e exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e exitError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// Run executes the command line and returns the exit code.
func Run(ctx context.Context, args []string, streams Streams) int {
	// Text from hubs, clusters and repositories must not control the terminal.
	streams.Out, streams.Err = &plain.Writer{To: streams.Out}, &plain.Writer{To: streams.Err}
	a := &app{Streams: streams, getenv: os.Getenv, now: time.Now}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitDone
	}
	var usage usageError
	if errors.As(err, &usage) || isCobraUsage(err) {
		fmt.Fprintf(streams.Err, "Error: %s\nRun '%s --help' for usage.\n", err, command.CommandPath())
		return exitUsage
	}
	code, exit := exitFailed, exitError{}
	if errors.As(err, &exit) {
		if code = exit.code; exit.err == nil {
			return code
		}
	}
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(streams.Err, "interrupted")
		return code
	}
	fmt.Fprintf(streams.Err, "Error: %s\n", err)
	if hint := a.hint(command, err); hint != "" {
		fmt.Fprintf(streams.Err, "%s\n", hint)
	}
	return code
}

// isCobraUsage recognises cobra's own errors about unknown commands. Errors
// about flags and arguments are wrapped where they are declared.
func isCobraUsage(err error) bool {
	return strings.HasPrefix(err.Error(), "unknown command") || strings.HasPrefix(err.Error(), "required flag")
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
		Args:          knownVerb,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return usageError{likelyFlag(c, err)} })
	flags := root.PersistentFlags()
	flags.StringVar(&a.contextName, "context", "", "name of the logged-in hub to use (env AXLE_CONTEXT)")
	flags.StringVarP(&a.output, "output", "o", "table", "output format: table, json, yaml or name")
	flags.StringVar(&a.hubURL, "hub", "", "URL of the hub, instead of a context (env AXLE_HUB_URL)")
	flags.StringVar(&a.tokenFile, "token-file", "", "file with the API token, instead of a context's (env AXLE_TOKEN_FILE, or AXLE_TOKEN)")
	flags.StringVar(&a.caFile, "ca", "", "file with the certificate authority to trust (env AXLE_CA_FILE)")
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "no progress")
	root.AddCommand(
		a.login(), a.logout(), a.whoami(), a.version(), a.completion(root),
		a.clusters(), a.repos(), a.services(), a.projects(), a.webhooks(), a.contexts(), a.outputs(), a.config(), a.agents(), a.tokens(), a.serviceAccounts(), a.federation(), a.audit(), a.users(), a.groups(), a.auth(), a.sessions(), a.providers(), a.hub(), a.events(), a.apply(), a.diff(), a.kubectl(),
	)
	_ = root.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"table", "json", "yaml", "name"}, cobra.ShellCompDirectiveNoFileComp))
	root.CompletionOptions.DisableDefaultCmd = true
	exemplify(root)
	a.completeNames(root)
	return root
}

// noun is a command that only groups other commands.
func noun(use, short string, aliases []string, verbs ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Aliases: aliases,
		Args: knownVerb,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(verbs...)
	return c
}

// Argument checks whose errors count as usage.
func noArgs(c *cobra.Command, args []string) error { return usage(cobra.NoArgs(c, args)) }

func exactly(n int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != n {
			return usagef("%q takes %d argument(s), got %d: %s", c.CommandPath(), n, len(args), c.UseLine())
		}
		return nil
	}
}

func atLeast(n int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < n {
			return usagef("%q takes at least %d argument(s): %s", c.CommandPath(), n, c.UseLine())
		}
		return nil
	}
}

func atMost(n int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) > n {
			return usagef("%q takes at most %d argument(s): %s", c.CommandPath(), n, c.UseLine())
		}
		return nil
	}
}

func usage(err error) error {
	if err == nil {
		return nil
	}
	return usageError{err}
}

// client returns a client for the chosen hub.
func (a *app) client() (*sdk.Client, error) {
	target, err := a.target()
	if err != nil {
		return nil, err
	}
	return sdk.New(sdk.Config{URL: target.URL, Token: target.Token, CAPEM: []byte(target.CA), UserAgent: "axle/" + buildinfo.Version})
}

func (a *app) completion(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:       "completion bash|zsh|fish|powershell",
		Short:     "Print the completion script for a shell",
		Example:   "  source <(axle completion bash)",
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		Args:      exactly(1),
		RunE: func(_ *cobra.Command, args []string) error {
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.Out, true)
			case "zsh":
				return root.GenZshCompletion(a.Out)
			case "fish":
				return root.GenFishCompletion(a.Out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(a.Out)
			}
			return usagef("no completion script for %q; use bash, zsh, fish or powershell", args[0])
		},
	}
}
