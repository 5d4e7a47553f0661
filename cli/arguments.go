package cli

import (
	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/output"
)

func usagef(format string, args ...any) error { return exitcode.Usagef(format, args...) }

// noArgs accepts no arguments. Its error counts as wrong usage, as those of the
// checks below do; cobra's own would not.
func noArgs(c *cobra.Command, args []string) error { return exitcode.Usage(cobra.NoArgs(c, args)) }

// exactly accepts n arguments.
func exactly(n int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != n {
			return usagef("%q takes %s, got %d: %s", c.CommandPath(), output.Count(n, "argument"), len(args), c.UseLine())
		}
		return nil
	}
}

// atLeast accepts n arguments or more.
func atLeast(n int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < n {
			return usagef("%q takes at least %s: %s", c.CommandPath(), output.Count(n, "argument"), c.UseLine())
		}
		return nil
	}
}

// atMost accepts n arguments or fewer.
func atMost(n int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) > n {
			return usagef("%q takes at most %s: %s", c.CommandPath(), output.Count(n, "argument"), c.UseLine())
		}
		return nil
	}
}

// complete lets the shell offer the fixed values of a flag.
func complete(c *cobra.Command, flag string, values ...string) {
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}
