package tunnel

import (
	"fmt"
	"strings"
	"testing"
)

// TestAProjectsHintsDelayNoOtherProject holds that projects take turns, and that one whose
// agents do not answer leaves places to others.
func TestAProjectsHintsDelayNoOtherProject(t *testing.T) {
	c := Config{Project: func(cluster string) string { return strings.Split(cluster, "-")[0] }}
	h := newHints(&Tunnels{config: c, pools: newPools(c)})
	for n := range 1000 {
		h.add(fmt.Sprintf("tenant-%d", n), reasonDesired)
	}
	h.add("other-1", reasonToken)
	for n, want := range []string{"tenant-0", "other-1", "tenant-1"} {
		if cluster, _, place := h.next(); cluster != want || place == nil {
			t.Errorf("the hint %d is for %s, want %s", n, cluster, want)
		}
	}
	sent := 0
	for {
		_, _, place := h.next()
		if place == nil {
			break
		}
		sent++
	}
	if sent > hinting/2 {
		t.Errorf("a project whose agents do not answer has %d of %d places", sent, hinting)
	}
	h.add("other-2", reasonToken)
	if cluster, reason, place := h.next(); cluster != "other-2" || reason != reasonToken || place == nil {
		t.Errorf("another project's hint waits: %q %q %v", cluster, reason, place)
	}
}
