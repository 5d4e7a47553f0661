package completion_test

import (
	"testing"

	"github.com/axle-cd/axle/cli/completion"
)

// A flag names an object in all commands or in some of them.
func TestAFlagOfSeveralMeaningsIsThatOfItsCommand(t *testing.T) {
	for _, c := range []struct {
		command, flag string
		completed     bool
	}{
		{"services list", "cluster", true},
		{"backends migrate", "from", true},
		{"audit list", "from", false},
		{"auth bind", "group", true},
		{"providers create", "group", false},
	} {
		if got := completion.Flag(c.command, c.flag) != nil; got != c.completed {
			t.Errorf("axle %s --%s is completed: %v", c.command, c.flag, got)
		}
	}
}
