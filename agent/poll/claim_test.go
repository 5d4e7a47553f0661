package poll_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/axle-cd/axle/agent/apply"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
)

// A service that deletes waits until the objects of the others are known. Those that
// are not applied are rendered for that, once; one that cannot be rendered is named.
func TestDeletesWaitUntilItIsKnownWhatOthersWant(t *testing.T) {
	for name, test := range map[string]struct {
		other func(w *agentv1.DesiredService, s *agentv1.ServiceSpec)
		idle  string
	}{
		"paused": {func(w *agentv1.DesiredService, _ *agentv1.ServiceSpec) { w.Paused = true }, "it is paused"},
		"gated": {func(_ *agentv1.DesiredService, s *agentv1.ServiceSpec) {
			s.Dependencies = []*agentv1.Dependency{{Name: "nobody"}}
		}, `it waits for service "nobody"`},
		"dry run": {func(_ *agentv1.DesiredService, s *agentv1.ServiceSpec) { s.DryRun = true }, "it is on a dry run"},
	} {
		t.Run(name, func(t *testing.T) {
			h, c := newHub(t), newCluster()
			c.pending["loser"] = nil
			h.put("heir", "one", test.other)
			h.put("loser", "one")
			start(t, h, c, t.TempDir())
			h.says("loser", "Synced", "")
			claimed := func() error {
				c.mu.Lock()
				defer c.mu.Unlock()
				if why := c.claims["heir"]; !strings.HasPrefix(why, test.idle) || len(c.pending["loser"]) > 0 || c.passes["heir"] > 0 {
					return fmt.Errorf("claimed because %q, waits for %+v, %d passes", why, c.pending["loser"], c.passes["heir"])
				}
				return nil
			}
			eventually.For(t, within, "what the heir wants is known", claimed)
			renders := c.count(c.renders, "heir")
			h.polled(5)
			if n := c.count(c.renders, "heir"); n != renders {
				t.Errorf("it was rendered %d times more", n-renders)
			}
			h.put("heir", "two", test.other)
			h.put("loser", "two")
			eventually.For(t, within, "it is rendered again", func() error {
				if n := c.count(c.renders, "heir"); n == renders {
					return errors.New("not yet")
				}
				return claimed()
			})
		})
	}
}

func TestWhoCannotBeRenderedIsNamed(t *testing.T) {
	h, c := newHub(t), newCluster()
	c.pending["loser"] = nil
	c.refuses = func(content string) error {
		if content == "broken" {
			return errcode.New(errcode.Invalid, "file.yaml:3: it is broken")
		}
		return nil
	}
	h.put("heir", "broken", func(w *agentv1.DesiredService, _ *agentv1.ServiceSpec) { w.Paused = true })
	h.put("loser", "one")
	start(t, h, c, t.TempDir())
	eventually.For(t, within, "the heir is named with its fault", func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if p := c.pending["loser"]; len(p) != 1 || p[0].Name != "heir" || !strings.Contains(p[0].Why, "it is broken") {
			return fmt.Errorf("%+v", p)
		}
		return nil
	})
	h.put("heir", "mended", func(w *agentv1.DesiredService, _ *agentv1.ServiceSpec) { w.Paused = true })
	h.says("loser", "Synced", "")
}

// A service that leaves the list claims nothing.
func TestWhoIsNotListedClaimsNothing(t *testing.T) {
	h, c := newHub(t), newCluster()
	c.pending["loser"] = []apply.Pending{}
	h.put("heir", "one", func(w *agentv1.DesiredService, _ *agentv1.ServiceSpec) { w.Paused = true })
	h.put("loser", "one")
	start(t, h, c, t.TempDir())
	eventually.For(t, within, "it claims", func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.claims["heir"] == "" {
			return errors.New("not yet")
		}
		return nil
	})
	h.change(func() { h.remove("heir") })
	eventually.For(t, within, "it claims nothing", func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.claims["heir"] != "" {
			return errors.New("it still does")
		}
		return nil
	})
}
