package world_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/axle-cd/axle/test/world"
)

// scenario is one thing that goes wrong while content is delivered.
type scenario struct {
	config world.Config
	allow  world.Allowance
	play   func(*cdn)
}

// scenarios are all, by name; each file of them adds its own.
var scenarios = map[string]scenario{}

// add puts scenarios among all, and refuses a name that is taken.
func add(more map[string]scenario) bool {
	for name, one := range more {
		if _, taken := scenarios[name]; taken {
			panic("two scenarios are called " + name)
		}
		scenarios[name] = one
	}
	return true
}

// TestCDN plays everything that can go wrong between upstream and agent, with
// real processes, and lets one checker judge each run by all invariants.
func TestCDN(t *testing.T) {
	t.Parallel()
	for _, name := range slices.Sorted(maps.Keys(scenarios)) {
		one := scenarios[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newCDN(t, one.config)
			s.run.Allow = one.allow
			one.play(s)
			s.judge()
		})
	}
}
