package poll_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/agent/poll"
	"github.com/axle-cd/axle/agent/render"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
)

func TestAChangeIsAppliedAndReported(t *testing.T) {
	h, c := newHub(t), newCluster()
	h.put("web", "one")
	start(t, h, c, t.TempDir())
	status := h.says("web", "Synced", "")
	if status.GetHealth() != "Healthy" || status.GetSourceRevision() != "one" {
		t.Errorf("got %v", status)
	}
	h.put("web", "two")
	eventually.For(t, within, "the second revision", func() error {
		if got := h.says("web", "Synced", "").GetSourceRevision(); got != "two" {
			return fmt.Errorf("it is %s", got)
		}
		return nil
	})
	if n := c.count(c.passes, "web"); n != 2 {
		t.Errorf("%d passes for two revisions", n)
	}
}

// Once everything is applied, polls cause no requests.
func TestNothingChangedDoesNothing(t *testing.T) {
	h, c := newHub(t), newCluster()
	for n := range 5 {
		h.put(fmt.Sprint("s", n), "content")
	}
	start(t, h, c, t.TempDir())
	for n := range 5 {
		h.says(fmt.Sprint("s", n), "Synced", "")
	}
	h.polled(2)
	h.mu.Lock()
	asked, reports := h.asked, len(h.reports)
	h.mu.Unlock()
	h.polled(20)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.asked != asked || len(h.reports) != reports {
		t.Errorf("%d more calls for specs and %d more reports without a change", h.asked-asked, len(h.reports)-reports)
	}
	for n := range 5 {
		if got := c.count(c.renders, fmt.Sprint("s", n)); got != 1 {
			t.Errorf("service %d was rendered %d times", n, got)
		}
	}
}

func TestHubAwayAfterARestart(t *testing.T) {
	h, c, dir := newHub(t), newCluster(), t.TempDir()
	h.put("web", "one")
	first := start(t, h, c, dir)
	h.says("web", "Synced", "")
	first.stop()
	h.mu.Lock()
	h.away = errors.New("the hub is away")
	list := h.list
	h.mu.Unlock()
	start(t, h, c, dir, func(cfg *poll.Config) { cfg.List = list })
	eventually.For(t, within, "a pass without the hub", func() error {
		if n := c.count(c.passes, "web"); n < 2 {
			return fmt.Errorf("%d passes", n)
		}
		return nil
	})
}

// A missing kind is served: the service continues at once, and those that miss
// another kind do not.
func TestAKindThatComesWakesThoseThatMissedIt(t *testing.T) {
	h, c := newHub(t), newCluster()
	missing := func(kind string) apply.Result {
		return apply.Result{Phase: apply.PhaseApplying, Sync: apply.SyncFailed, Message: kind + " is not known", Missing: []string{kind}, Partly: true, Again: time.Hour}
	}
	c.result["web"], c.result["db"] = missing("example.org/v1/Web"), missing("example.org/v1/Database")
	h.put("web", "one")
	h.put("db", "one")
	a := start(t, h, c, t.TempDir())
	h.says("web", "Failed", "")
	h.says("db", "Failed", "")
	passes := c.count(c.passes, "db")
	c.set(func() {
		delete(c.result, "web")
		c.served = append(c.served, "example.org/v1", "example.org/v1/Web")
	})
	a.APIsChanged()
	h.says("web", "Synced", "")
	if n := c.count(c.passes, "db"); n != passes {
		t.Errorf("a service that misses another kind had %d passes more", n-passes)
	}
}

// The desired content was applied with the previous spec, so nothing is left to do
// when the spec arrives. Its arrival must still be reported, with the name of the
// applied revision: the previous spec had the previous name.
func TestSpecsThatComeAtLastAreSaid(t *testing.T) {
	h, c := newHub(t), newCluster()
	h.put("web", "one")
	start(t, h, c, t.TempDir())
	h.says("web", "Synced", "")
	h.change(func() { h.noSpecs = errcode.New(errcode.Unavailable, "no specs now") })
	h.put("web", "two")
	asked := 0
	eventually.For(t, within, "the second revision, without its spec", func() error {
		h.change(func() { asked = h.asked })
		if n := c.count(c.passes, "web"); n < 2 {
			return fmt.Errorf("%d passes", n)
		}
		return nil
	})
	// The pass took back that the spec is missing; the polls after it say so
	// again.
	eventually.For(t, within, "polls that ask for it", func() (err error) {
		h.change(func() {
			if h.asked < asked+3 {
				err = fmt.Errorf("asked %d times", h.asked-asked)
			}
		})
		return err
	})
	h.says("web", "Failed", "")
	h.change(func() { h.noSpecs = nil })
	h.says("web", "Synced", "")
	eventually.For(t, within, "the second revision's name", func() error {
		if got := h.says("web", "Synced", "").GetSourceRevision(); got != "two" {
			return fmt.Errorf("it is %s", got)
		}
		return nil
	})
	if n := c.count(c.passes, "web"); n != 2 {
		t.Errorf("%d passes for two revisions", n)
	}
}

// A pass that is due between a list and its specs waits for them: its render, diff
// and tests use the names of the revision that it applies.
func TestAPassWaitsForTheSpecOfItsFiles(t *testing.T) {
	h, c := newHub(t), newCluster()
	created := func(at time.Time) func(*agentv1.DesiredService, *agentv1.ServiceSpec) {
		return func(_ *agentv1.DesiredService, s *agentv1.ServiceSpec) { s.Display.CreatedAt = at.UnixMicro() }
	}
	first, second := time.Unix(1, 0).UTC(), time.Unix(2, 0).UTC()
	h.put("web", "one", created(first))
	h.put("db", "one")
	a := start(t, h, c, t.TempDir())
	h.says("web", "Synced", "")
	h.says("db", "Synced", "")
	asked, answer := make(chan struct{}), make(chan struct{})
	var once sync.Once
	h.change(func() { h.onServices = func() { once.Do(func() { close(asked) }); <-answer } })
	h.put("web", "two", created(second))
	a.Poke()
	<-asked
	a.NeedPass("web")
	a.NeedPass("db") // it was asked for later, and nothing keeps it
	eventually.For(t, within, "the other service's pass", func() error {
		if n := c.count(c.passes, "db"); n < 2 {
			return fmt.Errorf("%d passes", n)
		}
		return nil
	})
	if n := c.count(c.passes, "web"); n != 1 {
		t.Errorf("%d passes before the spec came", n)
	}
	close(answer)
	eventually.For(t, within, "the second revision", func() error {
		if got := h.says("web", "Synced", "").GetSourceRevision(); got != "two" {
			return fmt.Errorf("it is %s", got)
		}
		return nil
	})
	c.set(func() {
		if got := c.renderedAt["web"]; len(got) != 2 || !got[1].Equal(second) {
			t.Errorf("rendered as of %v", got)
		}
	})
}

func TestPausedTakesNothing(t *testing.T) {
	h, c := newHub(t), newCluster()
	h.put("web", "one")
	start(t, h, c, t.TempDir())
	h.says("web", "Synced", "")
	h.put("web", "two", func(w *agentv1.DesiredService, _ *agentv1.ServiceSpec) { w.Paused = true })
	if got := h.says("web", "Paused", "").GetSourceRevision(); got != "one" {
		t.Errorf("a paused service took revision %s", got)
	}
	c.set(func() {
		if !c.paused["web"] {
			t.Error("heals of a paused service go on")
		}
	})
	h.put("web", "two")
	eventually.For(t, within, "the second revision after the pause", func() error {
		if got := h.says("web", "Synced", "").GetSourceRevision(); got != "two" {
			return fmt.Errorf("it is %s", got)
		}
		return nil
	})
}

func TestPendingClusterHolds(t *testing.T) {
	h, c := newHub(t), newCluster()
	h.put("web", "one")
	start(t, h, c, t.TempDir())
	h.says("web", "Synced", "")
	h.change(func() { h.list.Pending, h.list.Services = true, nil })
	h.says("web", "Held", "ClusterPending")
	if len(c.Services()) != 1 {
		t.Error("a cluster that waits for approval lost its service")
	}
}

func TestDependencyGates(t *testing.T) {
	h, c := newHub(t), newCluster()
	c.health["db"] = "Progressing"
	h.put("db", "db")
	h.put("web", "web", func(_ *agentv1.DesiredService, s *agentv1.ServiceSpec) {
		s.Dependencies = []*agentv1.Dependency{{Name: "db"}, {Name: "elsewhere", Cluster: "other"}}
	})
	a := start(t, h, c, t.TempDir())
	if got := h.says("web", "Pending", "Dependency").GetMessage(); got != `waits for service "db", which is Progressing` && got != `waits for service "db", which is not applied yet` {
		t.Errorf("the reason is %q", got)
	}
	h.says("db", "Synced", "")
	if n := c.count(c.passes, "web"); n != 0 {
		t.Errorf("it was applied %d times before its dependency was healthy", n)
	}
	c.set(func() { c.health["db"] = "Healthy" })
	a.Touched("db")
	h.says("web", "Synced", "")
}

// A pass that could not write everything is never called applied, and is tried
// again.
func TestHalfAppliedIsNotApplied(t *testing.T) {
	h, c := newHub(t), newCluster()
	h.put("web", "one")
	start(t, h, c, t.TempDir())
	h.says("web", "Synced", "")
	c.set(func() {
		c.result["web"] = apply.Result{Phase: apply.PhaseApplying, Sync: apply.SyncFailed, Reason: apply.ReasonOwnership, Message: "not ours",
			Problems: []apply.Problem{{Source: "apply", Message: "belongs to somebody else"}}}
	})
	h.put("web", "two")
	status := h.says("web", "Failed", apply.ReasonOwnership)
	if status.GetSourceRevision() != "one" || len(status.GetErrors()) != 1 || status.GetErrors()[0].GetSince() == 0 {
		t.Errorf("got %v", status)
	}
	before := c.count(c.passes, "web")
	h.polled(5)
	if n := c.count(c.passes, "web") - before; n > 20 {
		t.Errorf("%d passes while it fails: there is no back-off", n)
	}
	c.set(func() { delete(c.result, "web") })
	if got := h.says("web", "Synced", "").GetSourceRevision(); got != "two" {
		t.Errorf("it came back with revision %s", got)
	}
}

func TestWhatFailsIsSaidWithItsSource(t *testing.T) {
	for name, test := range map[string]struct {
		fault func(h *hub, c *cluster)
		sync  string
		part  string
	}{
		"tarball that this cluster may not have": {func(h *hub, _ *cluster) { clear(h.tarballs) }, "Failed", "source"},
		"API server away":                        {func(_ *hub, c *cluster) { c.fail = errcode.New(errcode.Unavailable, "no route to the API server") }, "Failed", "apply"},
	} {
		t.Run(name, func(t *testing.T) {
			h, c := newHub(t), newCluster()
			a := start(t, h, c, t.TempDir())
			eventually.For(t, within, "the inventories are read", func() error {
				if !a.State().Loaded {
					return errors.New("not yet")
				}
				return nil
			})
			// The service and its fault come together.
			h.put("web", "one", func(*agentv1.DesiredService, *agentv1.ServiceSpec) { c.set(func() { test.fault(h, c) }) })
			status := h.says("web", test.sync, "")
			if len(status.GetErrors()) == 0 || status.GetErrors()[0].GetSource() != test.part {
				t.Errorf("got errors %v, want one of %s", status.GetErrors(), test.part)
			}
			c.set(func() { c.fail = nil })
			d, body := pack(t, "one")
			h.change(func() { h.tarballs[d] = body })
			h.says("web", "Synced", "")
		})
	}
}

// Objects that a template looked up are read again every tenth poll.
func TestLookedUpObjectsAreReadAgain(t *testing.T) {
	h, c := newHub(t), newCluster()
	c.objects["ca"] = []byte(`{"metadata":{"uid":"u","resourceVersion":"1"}}`)
	key := render.LookupKey{APIVersion: "v1", Kind: "Secret", Name: "ca"}
	c.reads = []render.Read{{Key: key, State: "u/1"}}
	h.put("web", "one")
	start(t, h, c, t.TempDir())
	h.says("web", "Synced", "")
	h.polled(12)
	if n := c.count(c.renders, "web"); n != 1 {
		t.Errorf("%d renders though the object is as it was", n)
	}
	// The first poll may ask too, before the service has anything to read. On a
	// busy machine there were more polls than were waited for.
	lookups := c.count(c.lookups, "ca")
	h.mu.Lock()
	polls := h.polls
	h.mu.Unlock()
	if lookups == 0 || lookups > 1+polls/10 {
		t.Errorf("%d lookups in %d polls, want one of each tenth", lookups, polls)
	}
	c.set(func() {
		c.objects["ca"] = []byte(`{"metadata":{"uid":"u","resourceVersion":"2"}}`)
		c.reads = []render.Read{{Key: key, State: "u/2"}}
	})
	eventually.For(t, within, "another render", func() error {
		if n := c.count(c.renders, "web"); n != 2 {
			return fmt.Errorf("%d renders", n)
		}
		return nil
	})
}

// A CRD that arrives later renders a chart again that asked for it.
func TestAPIsThatArriveRenderAgain(t *testing.T) {
	h, c := newHub(t), newCluster()
	c.asked = []string{"monitoring.coreos.com/v1"}
	h.put("web", "one")
	h.put("other", "two")
	a := start(t, h, c, t.TempDir())
	h.says("web", "Synced", "")
	c.set(func() { c.served = append(c.served, "unrelated.example/v1") })
	a.APIsChanged()
	c.set(func() { c.served = append(c.served, "monitoring.coreos.com/v1") })
	a.APIsChanged()
	eventually.For(t, within, "another render", func() error {
		if n := c.count(c.renders, "web"); n != 2 {
			return fmt.Errorf("%d renders", n)
		}
		return nil
	})
}

func TestDriftMayAskForAPass(t *testing.T) {
	h, c := newHub(t), newCluster()
	h.put("web", "one")
	a := start(t, h, c, t.TempDir())
	h.says("web", "Synced", "")
	a.NeedPass("web")
	eventually.For(t, within, "another pass", func() error {
		if n := c.count(c.passes, "web"); n != 2 {
			return fmt.Errorf("%d passes", n)
		}
		return nil
	})
}

// The hub can slow agents down; a fixed interval is not changed.
func TestEndsWithItsContext(t *testing.T) {
	h, c := newHub(t), newCluster()
	a := start(t, h, c, t.TempDir(), func(cfg *poll.Config) { cfg.Interval = time.Hour })
	h.polled(0)
	ended := make(chan struct{})
	go func() { a.stop(); close(ended) }()
	eventually.For(t, within, "the end", func() error {
		select {
		case <-ended:
			return nil
		default:
			return errors.New("it runs on")
		}
	})
}

// An API of another group that is down holds the prunes of what asked for APIs only:
// manifests without templates are the same whatever is served.
func TestAnAPIThatIsDownHoldsNothingThatDidNotAsk(t *testing.T) {
	h, c := newHub(t), newCluster()
	h.put("web", "one")
	c.unlisted = "metrics.example.org/v1 is down"
	start(t, h, c, t.TempDir())
	h.says("web", "Synced", "")
	held := func() string {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.partial["web"]
	}
	if why := held(); why != "" {
		t.Errorf("the prunes of manifests wait, because %s", why)
	}
	c.mu.Lock()
	c.asked = []string{"metrics.example.org/v1"}
	c.mu.Unlock()
	h.put("web", "two")
	eventually.For(t, within, "a template that asks waits", func() error {
		if why := held(); why == "" {
			return errors.New("it may prune")
		}
		return nil
	})
}
