package poll_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/agent/poll"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// absences are the ways in which a service can be missing in the hub's answers
// without a tombstone.
var absences = map[string]func(h *hub){
	"missing from the list": func(h *hub) { h.change(func() { h.remove("web") }) },
	"empty list":            func(h *hub) { h.change(func() { h.list.Services = nil }) },
	"specs are gone":        func(h *hub) { h.put("web", "two"); h.change(func() { clear(h.specs) }) },
	"refused":               func(h *hub) { h.mu.Lock(); h.away = errors.New("403"); h.mu.Unlock() },
	"cluster pending":       func(h *hub) { h.change(func() { h.list.Pending, h.list.Services = true, nil }) },
	"a restored hub that never knew it": func(h *hub) {
		h.change(func() {
			h.list.Services = nil
			h.list.Incarnation = &agentv1.Incarnation{Id: "life2"}
			h.lineage = poll.Restored
		})
	},
}

// surviving runs a cluster through every absence and returns an error when a
// service was deleted, or written to, without a tombstone. wrap may put
// something between the hub and the agent.
func surviving(t *testing.T, wrap func(c *cluster, h *hub) poll.Hub) error {
	for name, vanish := range absences {
		h, c := newHub(t), newCluster()
		h.put("web", "one")
		h.put("db", "db")
		a := start(t, h, c, t.TempDir(), func(cfg *poll.Config) { cfg.Hub = wrap(c, h) })
		h.says("web", "Synced", "")
		h.says("db", "Synced", "")
		vanish(h)
		h.polled(5)
		a.stop()
		c.mu.Lock()
		deleted, applied := slices.Clone(c.deleted), len(c.applied)
		c.mu.Unlock()
		if len(deleted) > 0 || applied != 2 {
			return fmt.Errorf("%s: %v was deleted, %d services remain of 2", name, deleted, applied)
		}
	}
	return nil
}

func TestAbsenceNeverDeletes(t *testing.T) {
	if err := surviving(t, func(_ *cluster, h *hub) poll.Hub { return h }); err != nil {
		t.Error(err)
	}
}

// deleting makes tombstones for services missing from a list, as an agent would that
// deletes what is absent.
type deleting struct {
	*hub
	known map[string]bool
}

func (d *deleting) Desired(ctx context.Context, etag string) (poll.Answer, error) {
	answer, err := d.hub.Desired(ctx, etag)
	if err != nil || answer.List == nil {
		return answer, err
	}
	listed := map[string]bool{}
	for _, s := range answer.List.GetServices() {
		listed[s.GetId()], d.known[s.GetId()] = true, true
	}
	for id := range d.known {
		if !listed[id] {
			answer.List.Tombstones = append(answer.List.Tombstones, &agentv1.Tombstone{ServiceId: id, TombstoneId: "t" + id, Mode: "drain"})
		}
	}
	return answer, nil
}

func TestAbsenceNeverDeletesCatchesADeletingAgent(t *testing.T) {
	err := surviving(t, func(_ *cluster, h *hub) poll.Hub { return &deleting{h, map[string]bool{}} })
	if err == nil {
		t.Error("an agent that deletes what is absent was not caught")
	}
}

func TestOrphanIsHeldAndComesBack(t *testing.T) {
	h, c := newHub(t), newCluster()
	h.put("web", "one")
	start(t, h, c, t.TempDir())
	h.says("web", "Synced", "")
	h.change(func() { h.remove("web") })
	h.says("web", "Held", "Orphaned")
	c.set(func() {
		if !c.paused["web"] {
			t.Error("an orphan is still healed")
		}
	})
	h.put("web", "one")
	h.says("web", "Synced", "")
	c.set(func() {
		if c.paused["web"] {
			t.Error("a service that came back is not healed")
		}
	})
}

// hasty is a clock of which ten minutes pass in three seconds.
type hasty struct{ began time.Time }

// Now implements clock.Clock.
func (h hasty) Now() time.Time { return h.began.Add(200 * time.Since(h.began)) }

// After implements clock.Clock.
func (h hasty) After(d time.Duration) <-chan time.Time { return time.After(d / 200) }

// The management cluster was restored from a backup under a running agent, from before a
// cluster was destroyed. Its service is in no list: nothing of it is applied or deleted, and
// the hub learns where it is, that there will be machines, and the commands that end both.
func TestAServiceThatABackupBringsBackIsReported(t *testing.T) {
	h, c := newHub(t), newCluster()
	h.put("web", "one")
	a := start(t, h, c, t.TempDir(), func(cfg *poll.Config) { cfg.Clock = hasty{time.Now()} })
	h.says("web", "Synced", "")
	c.set(func() {
		c.restored = map[string]apply.State{"svc_1": {ServiceID: "svc_1", Name: "cluster-shop-1", Namespace: "cluster-shop-1-x7k2", Objects: 2}}
		c.makes = map[string]kubeobj.Ref{"svc_1": {Group: "cluster.x-k8s.io", Kind: "Cluster", Namespace: "cluster-shop-1-x7k2", Name: "shop-1"}}
	})
	said := h.says("svc_1", "Held", "Orphaned").GetMessage()
	for _, want := range []string{
		"service cluster-shop-1 of namespace cluster-shop-1-x7k2", "its 2 objects are left as they are", "the machines of its cluster shop-1 if they are gone",
		"kubectl delete clusters.cluster.x-k8s.io shop-1 -n cluster-shop-1-x7k2", "kubectl delete secrets -A -l axle-cd.github.io/inventory=svc_1",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("it reports %q, without %q", said, want)
		}
	}
	c.set(func() {
		if c.passes["svc_1"] != 0 || len(c.deleted) > 0 || !c.paused["svc_1"] {
			t.Errorf("%d passes, %v deleted, paused %v", c.passes["svc_1"], c.deleted, c.paused["svc_1"])
		}
		c.removed = map[string]bool{"svc_1": true, "web": true}
	})
	eventually.For(t, within, "the report that it is gone", func() error {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.status["svc_1"] != nil {
			return errors.New("it is still reported")
		}
		return nil
	})
	a.stop()
	if _, has := c.State("web"); !has {
		t.Error("a service that the hub lists was forgotten")
	}
}

func TestTombstonesDrainAndDetach(t *testing.T) {
	for _, mode := range []string{"drain", "detach"} {
		t.Run(mode, func(t *testing.T) {
			h, c := newHub(t), newCluster()
			h.put("web", "one")
			start(t, h, c, t.TempDir())
			h.says("web", "Synced", "")
			h.change(func() {
				h.remove("web")
				h.list.Tombstones = []*agentv1.Tombstone{{ServiceId: "web", TombstoneId: "t1", Mode: mode, Name: "web", Namespace: "default"}}
			})
			eventually.For(t, within, "the tombstone to be worked off", func() error {
				h.mu.Lock()
				defer h.mu.Unlock()
				if !slices.Contains(h.drained, "t1") {
					return errors.New("not reported")
				}
				return nil
			})
			if got := len(c.Services()); got != 0 {
				t.Errorf("%d services remain", got)
			}
			c.set(func() {
				if drained := len(c.deleted) > 0; drained != (mode == "drain") {
					t.Errorf("deleted %v by %s", c.deleted, mode)
				}
			})
		})
	}
}

func TestServiceThatIsNeededDoesNotLeave(t *testing.T) {
	h, c := newHub(t), newCluster()
	h.put("db", "one")
	h.put("web", "one", func(_ *agentv1.DesiredService, s *agentv1.ServiceSpec) {
		s.Dependencies = []*agentv1.Dependency{{Name: "db"}}
	})
	start(t, h, c, t.TempDir())
	h.says("web", "Synced", "")
	h.change(func() {
		h.remove("db")
		h.list.Tombstones = []*agentv1.Tombstone{{ServiceId: "db", TombstoneId: "t1", Mode: "drain", Name: "db"}}
	})
	h.says("db", "Applying", "Draining")
	h.change(func() { h.remove("web") })
	eventually.For(t, within, "the drain", func() error {
		if _, there := c.State("db"); there {
			return errors.New("it is still there")
		}
		return nil
	})
}

// While a service waits to leave, its passes have their pauses: the end of one does not
// cause the next.
func TestWaitingToLeaveCostsNothing(t *testing.T) {
	h, c := newHub(t), newCluster()
	h.put("db", "one")
	h.put("web", "one", func(_ *agentv1.DesiredService, s *agentv1.ServiceSpec) {
		s.Dependencies = []*agentv1.Dependency{{Name: "db"}}
	})
	registry := prometheus.NewRegistry()
	start(t, h, c, t.TempDir(), func(cfg *poll.Config) { cfg.Registerer = registry })
	h.says("web", "Synced", "")
	h.change(func() {
		h.remove("db")
		h.list.Tombstones = []*agentv1.Tombstone{{ServiceId: "db", TombstoneId: "t1", Mode: "drain", Name: "db"}}
	})
	h.says("db", "Applying", "Draining")
	polls := func() int {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.polls
	}
	passes := func() (n float64) {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				if f.GetName() == "axle_agent_passes_total" {
					n += m.GetCounter().GetValue()
				}
			}
		}
		return n
	}
	began, before := polls(), passes()
	h.polled(20)
	// A pass a poll, and at most one a second: a poll is every 5 s.
	if ran, most := passes()-before, float64(10*(polls()-began)); ran > most {
		t.Errorf("%v passes in %d polls", ran, polls()-began)
	}
}

// After a restore of the hub nothing is deleted until a person confirms; then one
// whole report goes first.
func TestRestoredHubHoldsDeletes(t *testing.T) {
	h, c, dir := newHub(t), newCluster(), t.TempDir()
	h.put("web", "one")
	h.put("old", "old")
	first := start(t, h, c, dir)
	h.says("web", "Synced", "")
	h.says("old", "Synced", "")
	tomb := &agentv1.Tombstone{ServiceId: "old", TombstoneId: "t1", Mode: "drain", Name: "old"}
	h.change(func() {
		h.remove("old")
		h.list.Tombstones = []*agentv1.Tombstone{tomb}
		h.list.Incarnation = &agentv1.Incarnation{Id: "life2"}
		h.lineage = poll.Restored
	})
	h.says("old", "Held", "DeletesHeld")
	h.says("web", "Held", "DeletesHeld")
	h.put("web", "two")
	eventually.For(t, within, "a change to be applied without prune", func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.passes["web"] < 2 || c.partial["web"] == "" {
			return fmt.Errorf("%d passes, pruning held by %q", c.passes["web"], c.partial["web"])
		}
		return nil
	})
	// The hold survives a restart.
	first.stop()
	h.mu.Lock()
	list := h.list
	h.lineage = poll.SameLife
	h.mu.Unlock()
	start(t, h, c, dir, func(cfg *poll.Config) { cfg.List = list })
	h.polled(3)
	h.says("old", "Held", "DeletesHeld")
	h.change(func() { h.list.Incarnation = &agentv1.Incarnation{Id: "life2", Confirmed: true} })
	h.says("web", "Synced", "")
	eventually.For(t, within, "the drain and a pass that prunes", func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !slices.Contains(c.deleted, "old") || c.partial["web"] != "" {
			return fmt.Errorf("deleted %v, pruning held by %q", c.deleted, c.partial["web"])
		}
		return nil
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.ContainsFunc(h.reports, func(r *agentv1.ReportRequest) bool { return r.GetWhole() }) {
		t.Error("no whole report went before the deletes")
	}
}

// A fail-over without data loss continues by itself after a whole report.
func TestFailOverResumes(t *testing.T) {
	h, c := newHub(t), newCluster()
	h.put("web", "one")
	start(t, h, c, t.TempDir())
	h.says("web", "Synced", "")
	h.change(func() {
		h.list.Incarnation = &agentv1.Incarnation{Id: "life2", ParentId: "life1"}
		h.lineage = poll.Resumed
	})
	eventually.For(t, within, "a whole report", func() error {
		h.mu.Lock()
		defer h.mu.Unlock()
		if !slices.ContainsFunc(h.reports, func(r *agentv1.ReportRequest) bool { return r.GetWhole() }) {
			return errors.New("none yet")
		}
		return nil
	})
	h.says("web", "Synced", "")
}
