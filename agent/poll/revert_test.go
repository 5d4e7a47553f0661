package poll_test

import (
	"errors"
	"testing"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/errcode"
)

// A revert makes the applied revision the desired one: nothing changes in the
// cluster, and the failure of the commit in between is over.
func TestRevertOfABrokenCommitConverges(t *testing.T) {
	for name, test := range map[string]struct {
		content, depends string
		sync, reason     string
	}{
		"it cannot be rendered":              {content: "broken", sync: "Failed"},
		"it waits for what is not there":     {content: "good", sync: "Pending", reason: "Dependency", depends: "nobody"},
		"nor is there what it has now to do": {content: "other", sync: "Pending", reason: "Dependency", depends: "nobody"},
	} {
		t.Run(name, func(t *testing.T) {
			h, c := newHub(t), newCluster()
			c.refuses = func(content string) error {
				if content == "broken" {
					return errcode.New(errcode.Invalid, "file.yaml: it is broken")
				}
				return nil
			}
			h.put("web", "good")
			start(t, h, c, t.TempDir())
			h.says("web", "Synced", "")
			passes := c.count(c.passes, "web")
			h.put("web", test.content, func(w *agentv1.DesiredService, s *agentv1.ServiceSpec) {
				if test.depends != "" {
					s.Dependencies = []*agentv1.Dependency{{Name: test.depends}}
					w.SpecDigest, s.SpecDigest = "s1:depends", "s1:depends"
				}
			})
			h.says("web", test.sync, test.reason)
			h.put("web", "good")
			status := h.says("web", "Synced", "")
			if len(status.GetErrors()) > 0 || status.GetSourceRevision() != "good" {
				t.Errorf("%v", status)
			}
			if n := c.count(c.passes, "web"); n != passes {
				t.Errorf("%d passes over what is applied already", n-passes)
			}
		})
	}
}

// A pass that drift asked for and that came to no end is tried again: the files
// and settings are those that are applied, but the objects are not.
func TestWhatWasAskedForIsTriedUntilItIsDone(t *testing.T) {
	h, c := newHub(t), newCluster()
	h.put("web", "good")
	a := start(t, h, c, t.TempDir())
	h.says("web", "Synced", "")
	c.set(func() {
		c.failPass = map[string]error{"web": errcode.Hide(errcode.Unavailable, errors.New("away"), "away")}
	})
	a.NeedPass("web")
	h.says("web", "Failed", "")
	c.set(func() { c.failPass = nil })
	passes := c.count(c.passes, "web")
	h.says("web", "Synced", "")
	if c.count(c.passes, "web") == passes {
		t.Error("it is called synced, and no pass was made")
	}
}
