package command

import (
	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/output"
)

// NoArgs accepts no arguments. Its error counts as wrong usage, as those of the
// checks below do; cobra's own would not.
func NoArgs(c *cobra.Command, args []string) error { return exitcode.Usage(cobra.NoArgs(c, args)) }

// Exactly accepts n arguments.
func Exactly(n int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != n {
			return exitcode.Usagef("%q takes %s, got %d: %s", c.CommandPath(), output.Count(n, "argument"), len(args), c.UseLine())
		}
		return nil
	}
}

// AtLeast accepts n arguments or more.
func AtLeast(n int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < n {
			return exitcode.Usagef("%q takes at least %s: %s", c.CommandPath(), output.Count(n, "argument"), c.UseLine())
		}
		return nil
	}
}

// AtMost accepts n arguments or fewer.
func AtMost(n int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) > n {
			return exitcode.Usagef("%q takes at most %s: %s", c.CommandPath(), output.Count(n, "argument"), c.UseLine())
		}
		return nil
	}
}

// Complete lets the shell offer the fixed values of a flag.
func Complete(c *cobra.Command, flag string, values ...string) {
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}
