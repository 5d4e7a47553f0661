// Package suggest answers a mistyped command or flag with what was probably
// meant, before any hub is asked. cli gives it every command line that cobra
// does not understand.
package suggest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/internal/similar"
)

// Verb is for commands that only group others. It rejects an unknown word
// and suggests similar ones.
func Verb(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	c.SuggestionsMinimumDistance = similar.Likely
	meant := ""
	if all := c.SuggestionsFor(args[0]); len(all) > 0 {
		slices.Sort(all)
		meant = "; did you mean " + strings.Join(all, " or ") + "?"
	}
	return exitcode.Usagef("unknown command %q for %q%s", args[0], c.CommandPath(), meant)
}

// Flag adds a similar flag to the error about an unknown flag.
func Flag(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "" {
		return err
	}
	word, best, meant := unknown.GetSpecifiedName(), similar.Likely+1, ""
	c.Flags().VisitAll(func(f *pflag.Flag) {
		d := similar.Distance(word, f.Name)
		if strings.HasPrefix(f.Name, word) {
			d = 1
		}
		if d < best && !f.Hidden {
			best, meant = d, f.Name
		}
	})
	if meant == "" {
		return err
	}
	return fmt.Errorf("%w; did you mean --%s?", err, meant)
}
