package poll_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/axle-cd/axle/agent/poll"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
)

// waits makes an entry one that the hub knows from a backup.
func waits(w *agentv1.DesiredService, _ *agentv1.ServiceSpec) {
	w.Waiting = &agentv1.Waiting{Message: "waits for a person", TarballDigest: w.GetTarballDigest()}
	w.TarballDigest = ""
}

// present is the hub's list as an agent's disk has it.
func (h *hub) present() *agentv1.Desired {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := proto.CloneOf(h.list)
	list.Position = &agentv1.Position{Incarnation: list.GetIncarnation().GetId(), Sequence: h.sequence}
	return list
}

// did is what a service has, and its number of passes.
func (c *cluster) did(id string) (digest string, passes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.applied[id].TarballDigest, c.passes[id]
}

// TestWaitingServiceStaysAsItIs simulates a restored hub: what a cluster has stays
// and is still healed, new objects do not arrive, and a service that is the same in
// the backup is not affected. A restart changes none of that.
func TestWaitingServiceStaysAsItIs(t *testing.T) {
	h, c, dir := newHub(t), newCluster(), t.TempDir()
	h.put("web", "two")
	h.put("db", "db")
	first := start(t, h, c, dir)
	h.says("web", "Synced", "")
	h.says("db", "Synced", "")
	has, _ := c.did("web")
	h.change(func() {
		h.list.Incarnation, h.lineage = &agentv1.Incarnation{Id: "life2", ParentId: "life1"}, poll.Restored
	})
	h.put("web", "one", waits)
	h.put("db", "db", waits)
	h.put("gone", "gone", waits)
	check := func(when string) {
		t.Helper()
		if got := h.says("web", "Held", "Restored"); !strings.Contains(got.GetMessage(), "waits for a person") {
			t.Errorf("%s: it says %q", when, got.GetMessage())
		}
		h.says("gone", "Held", "Restored")
		h.says("db", "Held", "DeletesHeld")
		h.polled(3)
		if got, _ := c.did("web"); got != has {
			t.Errorf("%s: it went to the backup's content", when)
		}
		if _, passes := c.did("gone"); passes != 0 {
			t.Errorf("%s: what nobody confirmed was applied", when)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.paused["web"] || c.paused["db"] {
			t.Errorf("%s: what the cluster has is not looked after any more", when)
		}
	}
	check("after the restore")
	first.stop()
	list := h.present()
	h.mu.Lock()
	h.lineage = poll.SameLife
	clear(h.status)
	h.mu.Unlock()
	start(t, h, c, dir, func(cfg *poll.Config) { cfg.List = list })
	check("after a restart")
	h.put("web", "three")
	h.put("gone", "gone")
	h.change(func() { h.list.Incarnation = &agentv1.Incarnation{Id: "life2", ParentId: "life1", Confirmed: true} })
	h.says("web", "Synced", "")
	h.says("gone", "Synced", "")
	if got, _ := c.did("web"); got == has {
		t.Error("what upstream has by now was not applied")
	}
}

// TestOldDiskChangesNothing starts an agent with a disk from before the last revision
// while the hub is unavailable: the cluster's inventory names the newer revision.
func TestOldDiskChangesNothing(t *testing.T) {
	h, c, dir, old := newHub(t), newCluster(), t.TempDir(), t.TempDir()
	h.put("web", "one")
	first := start(t, h, c, dir)
	h.says("web", "Synced", "")
	first.stop()
	if err := os.CopyFS(old, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	list := h.present()
	before, _ := c.did("web")
	h.put("web", "two")
	second := start(t, h, c, dir)
	h.says("web", "Synced", "")
	for now, _ := c.did("web"); now == before; now, _ = c.did("web") {
		h.polled(1)
	}
	second.stop()
	newer, passes := c.did("web")
	h.mu.Lock()
	h.away = errors.New("away")
	h.mu.Unlock()
	start(t, h, c, old, func(cfg *poll.Config) { cfg.List = list })
	h.polled(5)
	if got, now := c.did("web"); got != newer || now != passes {
		t.Errorf("an older revision was applied, by %d passes", now-passes)
	}
	h.mu.Lock()
	h.away = nil
	h.mu.Unlock()
	h.says("web", "Synced", "")
	if got, _ := c.did("web"); got != newer {
		t.Error("the newer revision is not applied")
	}
}
