package tunnel_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/event"
)

// heard waits for the next hint.
func heard(t testing.TB, a *agent) string {
	t.Helper()
	select {
	case h := <-a.hints:
		if h.GetPosition().GetSequence() != 7 {
			t.Errorf("the hint is at %v", h.GetPosition())
		}
		return h.GetReason()
	case <-time.After(soon):
		t.Fatal("no hint came")
	}
	return ""
}

// TestHintsComeWithNews: hints follow changes of a list, and nothing else.
func TestHintsComeWithNews(t *testing.T) {
	t.Parallel()
	d := newDirectory("c1", "c2")
	h := startHub(t, d, nil)
	agents := map[string]*agent{}
	for _, c := range []string{"c1", "c2"} {
		agents[c] = startAgent(t, dialer(h.url(), transportFor(h.server), c), echo, nil)
		up(t, h, c)
		// The first one: this replica does not know what the agent has.
		if r := heard(t, agents[c]); r != "desired" {
			t.Errorf("the first hint is about %s", r)
		}
	}
	apply := func(rows ...event.Change) {
		t.Helper()
		var all []event.Row
		for _, r := range rows {
			all = append(all, event.Row{Change: r})
		}
		if err := h.Apply(t.Context(), all); err != nil {
			t.Fatal(err)
		}
	}
	d.set(func() { d.etags["c2"] = "2" })
	// Nothing changed for c1; then all agents are told of new keys.
	apply(event.Change{Kind: event.KindService, Key: "s1", Cluster: "c1"}, event.Change{Kind: event.KindService, Key: "s2", Cluster: "c2"})
	if r := heard(t, agents["c2"]); r != "desired" {
		t.Errorf("a changed list gives a hint about %s", r)
	}
	apply(event.Change{Kind: event.KindSigningKey, Key: "k"})
	for name, a := range agents {
		if r := heard(t, a); r != "token" {
			t.Errorf("%s: new keys give a hint about %s", name, r)
		}
	}
}

// TestChangesOfAMomentAreOneHint changes a list many times: the first is hinted
// at once, the others together, and the last is never left out.
func TestChangesOfAMomentAreOneHint(t *testing.T) {
	t.Parallel()
	d := newDirectory("c1", "c2")
	h := startHub(t, d, func(c *hubConfig) { c.HintRest = 2 * time.Second })
	agents := map[string]*agent{}
	for _, c := range []string{"c1", "c2"} {
		agents[c] = startAgent(t, dialer(h.url(), transportFor(h.server), c), echo, nil)
		up(t, h, c)
		heard(t, agents[c])
	}
	change := func(cluster, etag string) {
		t.Helper()
		d.set(func() { d.etags[cluster] = etag })
		if err := h.Apply(t.Context(), []event.Row{{Change: event.Change{Kind: event.KindService, Key: "s1", Cluster: cluster}}}); err != nil {
			t.Fatal(err)
		}
	}
	const changes = 60
	each := time.NewTicker(5 * time.Millisecond)
	defer each.Stop()
	began := time.Now()
	for n := range changes {
		<-each.C
		change("c1", strconv.Itoa(n+10))
	}
	change("c2", "2")
	most := 2 + int(time.Since(began)/(2*time.Second))
	if n := len(agents["c1"].hints); n > most {
		t.Errorf("%d changes gave %d hints, not %d at most", changes, n, most)
	}
	for n := len(agents["c1"].hints); n > 0; n-- {
		heard(t, agents["c1"])
	}
	heard(t, agents["c2"])
	// The last is not left out, whatever it waits for.
	change("c1", "99")
	heard(t, agents["c1"])
}

// TestHintAlongADeadLineIsNotLost changes a list while the connection is silent: the
// hint is lost, and the agent learns of the change with its next tunnel, not at its
// next poll. Either the hint or the connection may be given up first.
func TestHintAlongADeadLineIsNotLost(t *testing.T) {
	t.Parallel()
	for name, short := range map[string]struct{ hint, line time.Duration }{
		"the hint is given up first": {hint: time.Second, line: 3 * time.Second},
		"the line is given up first": {hint: time.Hour, line: 500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDirectory("c1")
			h := startHub(t, d, func(c *hubConfig) {
				c.HelloWithin, c.PingAfter, c.AnswerWithin = short.hint, short.line/2, short.line/2
			})
			l := newLine(t, h.server.Listener.Addr().String())
			a := startAgent(t, dialer("https://"+l.addr(), transportFor(h.server), "c1"), echo, nil)
			up(t, h, "c1")
			heard(t, a)
			l.hush()
			d.set(func() { d.etags["c1"] = "2" })
			if err := h.Apply(t.Context(), []event.Row{{Change: event.Change{Kind: event.KindService, Key: "s1", Cluster: "c1"}}}); err != nil {
				t.Fatal(err)
			}
			dials(t, a, 2)
			if r := heard(t, a); r != "desired" {
				t.Errorf("the next tunnel gives a hint about %s", r)
			}
		})
	}
}
