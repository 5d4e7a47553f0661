package suggest_test

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/cli/suggest"
)

// A mistyped flag is answered with the nearest one that help shows.
func TestASimilarFlagIsSuggested(t *testing.T) {
	for word, want := range map[string]string{"--clutser": "--cluster?", "--clus": "--cluster?", "--secrit": "", "--nothing-like-it": ""} {
		c := &cobra.Command{}
		c.Flags().String("cluster", "", "")
		c.Flags().String("secret", "", "")
		if err := c.Flags().MarkHidden("secret"); err != nil {
			t.Fatal(err)
		}
		err := suggest.Flag(c, c.ParseFlags([]string{word, "x"}))
		if _, meant, _ := strings.Cut(err.Error(), "did you mean "); meant != want {
			t.Errorf("%s: %v, want %q", word, err, want)
		}
	}
}
