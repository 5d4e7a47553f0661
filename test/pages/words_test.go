package pages_test

import (
	"testing"

	"github.com/axle-cd/axle/test/pages"
)

func TestSpokenFindsWhatToPutOtherwise(t *testing.T) {
	for text, want := range map[string]int{
		"Change a sink. What no flag names stays.":          1,
		"Change a sink.\nWhoever has it wins.":              1,
		"It ends here.\nand goes on. Who reads\nthis wins.": 1,
		"| What stays | x |":                                1,
		"The log says why.":                                 1,
		"The hub alone reads it.":                           1,
		"It shows what was changed, and who did.":           0,
		"Run `axle say alone` and `What is it`.":            0,
		"```\nWhat is it says alone\n```":                   0,
		"What?":                                             0,
	} {
		if got := pages.Spoken(text); len(got) != want {
			t.Errorf("%q: found %q, want %d", text, got, want)
		}
	}
}
