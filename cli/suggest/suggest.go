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
)

// likely is the maximum distance at which another word is suggested.
const likely = 2

// Verb is for commands that only group others. It rejects an unknown word
// and suggests similar ones.
func Verb(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	c.SuggestionsMinimumDistance = likely
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
	word, best, meant := unknown.GetSpecifiedName(), likely+1, ""
	c.Flags().VisitAll(func(f *pflag.Flag) {
		d := distance(word, f.Name)
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

// distance is how many letters must be inserted, removed or replaced to turn
// one word into the other.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
