package cli

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/plain"
)

// Streams are the input and outputs of the command.
type Streams = command.Streams

// Run executes the command line and returns the exit code.
func Run(ctx context.Context, args []string, streams Streams) int {
	// Text from hubs, clusters and repositories must not control the terminal.
	streams.Out, streams.Err = &plain.Writer{To: streams.Out}, &plain.Writer{To: streams.Err}
	a := &command.App{Streams: streams, Args: args, Getenv: os.Getenv, Now: time.Now}
	root := newRoot(a)
	root.SetArgs(args)
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	c, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitcode.Done
	}
	if isCobraUsage(err) {
		err = exitcode.Usage(err)
	}
	return exitcode.Write(streams.Err, err, exitcode.Note{
		Command: c.CommandPath(), Hint: hint(a, c, err), JSON: a.Output == output.JSON || exitcode.IsUsage(err) && wantsJSON(args),
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
	return slices.ContainsFunc([]string{"unknown command", "required flag", "if any flags in the group", "at least one of the flags in the group"}, func(begin string) bool { return strings.HasPrefix(err.Error(), begin) })
}

// hint suggests the next step when the hub's message cannot know it.
func hint(a *command.App, c *cobra.Command, err error) string {
	if errcode.Of(err) != errcode.Unauthorized || c.Name() == "login" {
		return ""
	}
	t, targetErr := a.Target()
	switch {
	case targetErr != nil:
		return "Log in with: axle login URL"
	case cmp.Or(a.TokenFile, a.Getenv("AXLE_TOKEN_FILE"), a.Getenv("AXLE_TOKEN")) != "":
		return "The token came from --token-file or the environment; use another one, or log in with: axle login " + t.URL
	}
	return "Log in again with: axle login " + t.URL
}
