package pages

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Check reads a command as a program would, and runs nothing. root is the
// program's command, made for this call alone: reading sets flags. An error says
// what does not exist, or what is missing.
func Check(root *cobra.Command, c Command) error {
	found, rest, err := root.Find(c.Words)
	if err != nil {
		return err
	}
	if c.Named {
		return known(found, rest)
	}
	if err := found.ParseFlags(rest); err != nil {
		return err
	}
	if err := found.ValidateArgs(found.Flags().Args()); err != nil {
		return err
	}
	return found.ValidateFlagGroups()
}

// known reports whether a command that a sentence names exists with its flags.
func known(c *cobra.Command, rest []string) error {
	c.InitDefaultHelpFlag()
	for _, word := range rest {
		if word == "--" {
			return nil
		}
		flag, _, _ := strings.Cut(word, "=")
		long, isLong := strings.CutPrefix(flag, "--")
		switch {
		case isLong && c.Flag(long) == nil:
			return fmt.Errorf("%s has no flag --%s", c.CommandPath(), long)
		case isLong:
		case len(flag) == 2 && flag[0] == '-' && c.Flags().ShorthandLookup(flag[1:]) == nil && c.InheritedFlags().ShorthandLookup(flag[1:]) == nil:
			return fmt.Errorf("%s has no flag %s", c.CommandPath(), flag)
		case c.HasSubCommands() && flag != "…":
			return fmt.Errorf("%s has no command %s", c.CommandPath(), word)
		}
	}
	return nil
}
