package gitagent_test

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/gitcache/gitagent"
)

func TestBudget(t *testing.T) {
	t.Parallel()
	var none *gitagent.Budget
	none.Used("a", 5)
	if room, _ := none.Room("a", 1<<40, 0); room < 1<<60 {
		t.Errorf("no budget leaves %d", room)
	}
	b := &gitagent.Budget{Each: 100, Total: 150}
	b.Used("other", 40)
	b.Used("a", 60) // its own bytes count as given, not as noted
	for name, tt := range map[string]struct {
		size, own, room int64
		bound           string
	}{
		"each":     {20, 0, 80, "for this repository"},
		"total":    {80, 0, 20, "for this repository"},
		"own":      {20, 30, 10, "for this repository"},
		"own wide": {20, 1000, 90, "for all mirrors"},
		"over":     {120, 0, -20, "for this repository"},
	} {
		room, bound := b.Room("a", tt.size, tt.own)
		if room != tt.room || !strings.Contains(bound, tt.bound) {
			t.Errorf("%s: room %d by %q, want %d by %q", name, room, bound, tt.room, tt.bound)
		}
	}
	b.Used("other", 0)
	if room, _ := b.Room("a", 20, 1000); room != 130 {
		t.Errorf("after the other is gone: %d", room)
	}
}
