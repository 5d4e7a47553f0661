package poll_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/axle-cd/axle/agent/poll"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/eventually"
)

// filesBelow are the files of a folder with their content.
func filesBelow(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(text)
	}
	return all
}

// Somebody syncs all services of a cluster, one after the other and twice. No spec is
// written for it. When the agent is restarted afterwards while the hub is
// unavailable, it continues with all of them, because its specs match its list.
func TestABurstOfSyncsWritesNoSpecs(t *testing.T) {
	const services = 12
	h, c, dir := newHub(t), newCluster(), t.TempDir()
	c.confirms = true
	put := func(n int, ask int64) {
		h.put(fmt.Sprintf("s%d", n), "one", func(w *agentv1.DesiredService, s *agentv1.ServiceSpec) {
			s.SpecDigest, s.SyncRequest, s.Display.Revision = fmt.Sprintf("s1:%d-%d", n, ask), ask, 1
			w.SpecDigest = s.GetSpecDigest()
		})
	}
	for n := range services {
		put(n, 0)
	}
	a := start(t, h, c, dir)
	for n := range services {
		h.says(fmt.Sprintf("s%d", n), "Synced", "")
	}
	specs := filesBelow(t, filepath.Join(dir, "specs"))
	for ask := int64(1); ask <= 2; ask++ {
		for n := range services {
			put(n, ask)
			a.Poke()
		}
		eventually.For(t, within, "all are synced", func() error {
			h.mu.Lock()
			defer h.mu.Unlock()
			for n := range services {
				if s := h.status[fmt.Sprintf("s%d", n)]; s.GetSpecDigest() != fmt.Sprintf("s1:%d-%d", n, ask) || s.GetSync() != "Synced" {
					return fmt.Errorf("s%d: %s %s %s", n, s.GetSync(), s.GetSpecDigest(), s.GetMessage())
				}
			}
			return nil
		})
	}
	a.stop()
	if now := filesBelow(t, filepath.Join(dir, "specs")); !maps.Equal(now, specs) {
		t.Error("specs were written again")
	}
	passes := c.count(c.passes, "s3")
	h.mu.Lock()
	h.away = errors.New("the hub is away")
	list := h.list
	h.mu.Unlock()
	b := start(t, h, c, dir, func(cfg *poll.Config) { cfg.List = list })
	eventually.For(t, within, "passes without the hub", func() error {
		for n := range services {
			if id := fmt.Sprintf("s%d", n); c.count(c.passes, id) < passes+1 {
				return fmt.Errorf("%s had none", id)
			}
		}
		return nil
	})
	b.stop()
}

// hurried runs fifty times faster.
type hurried struct{ start time.Time }

func (h hurried) Now() time.Time { return h.start.Add(50 * time.Since(h.start)) }

func (hurried) After(d time.Duration) <-chan time.Time { return time.After(d / 50) }

// A service's previous content stays while it is needed, but not until the next
// change.
func TestTreesThatAreLeftOverGo(t *testing.T) {
	h, c, dir := newHub(t), newCluster(), t.TempDir()
	h.put("web", "one")
	start(t, h, c, dir, func(cfg *poll.Config) { cfg.Clock = hurried{time.Now()} })
	h.says("web", "Synced", "")
	h.put("web", "two")
	eventually.For(t, within, "the tree of before goes", func() error {
		if got := h.says("web", "Synced", "").GetSourceRevision(); got != "two" {
			return fmt.Errorf("it is at %s", got)
		}
		trees, err := filepath.Glob(filepath.Join(dir, "cache", "*.json"))
		if err != nil || len(trees) != 1 {
			return fmt.Errorf("%d trees, %v", len(trees), err)
		}
		return nil
	})
}
