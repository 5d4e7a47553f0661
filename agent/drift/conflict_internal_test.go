package drift

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// fixed is a clock that a test moves.
type fixed struct{ now time.Time }

func (c *fixed) Now() time.Time                       { return c.now }
func (c *fixed) After(time.Duration) <-chan time.Time { return nil }

// keeper expects one object and counts the heals it is asked for.
type keeper struct {
	want  kubeobj.Expected
	heals int
	err   error
	// same: the heals restore no value.
	same bool
	// seen is called before a heal returns.
	seen func()
}

func (k *keeper) Expected(kubeobj.Ref) (kubeobj.Expected, bool) { return k.want, true }
func (k *keeper) ExpectedOf(kubeobj.Kind) []kubeobj.Expected    { return []kubeobj.Expected{k.want} }
func (k *keeper) Objects(string) []kubeobj.Expected             { return []kubeobj.Expected{k.want} }
func (k *keeper) Heal(context.Context, string, []kubeobj.Ref) ([]kubeobj.Healed, error) {
	k.heals++
	if k.seen != nil {
		k.seen()
	}
	return []kubeobj.Healed{{Ref: k.want.Ref, Same: k.same}}, k.err
}

// conflict is a watcher that sees an object which somebody else changes after each
// heal.
type conflict struct {
	*Watcher
	clock  *fixed
	keeper *keeper
	kind   *kindWatch
}

func newConflict(t *testing.T) *conflict {
	t.Helper()
	kind := kubeobj.Kind{Version: "v1", Kind: "ConfigMap", Resource: "configmaps", Namespaced: true}
	ref := kubeobj.Ref{Kind: "ConfigMap", Namespace: "ns", Name: "a"}
	c := &conflict{clock: &fixed{time.Unix(1e9, 0)}, keeper: &keeper{want: kubeobj.Expected{Ref: ref, Kind: kind, Service: "s", Print: kubeobj.Fingerprint{Own: 1}}}}
	var err error
	if c.Watcher, err = New(Config{REST: &rest.Config{Host: "http://127.0.0.1:1"}, ClusterID: "c", Clock: c.clock}); err != nil {
		t.Fatal(err)
	}
	c.kind = c.newKindWatch(kind)
	c.kind.state = synced
	c.kinds[kind.GroupKind()], c.owner = c.kind, c.keeper
	return c
}

// live sets the object that the watch sees.
func (c *conflict) live(own uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kind.objects[name{"ns", "a"}] = kubeobj.Live{Service: "s", Tracked: true, Cluster: "c",
		Print: kubeobj.Fingerprint{Own: own, Human: "kubectl", Other: "kubectl"}}
	c.dirtyLocked(c.keeper.want.Ref)
}

// run lets the loops do what is due.
func (c *conflict) run(t *testing.T) {
	t.Helper()
	c.round(t.Context())
	for {
		service, _ := c.nextHeal()
		if service == "" {
			return
		}
		c.healService(t.Context(), service, c.beginHeal(service))
		c.endHeal(service, nil)
		c.round(t.Context())
	}
}

func TestObjectThatIsChangedAgainAndAgainIsContested(t *testing.T) {
	c := newConflict(t)
	for n := range conflictAfter {
		c.live(2)
		c.run(t)
		if c.keeper.heals != n+1 {
			t.Fatalf("%d heals after change %d", c.keeper.heals, n+1)
		}
		c.live(2)
		c.run(t)
		if c.keeper.heals != n+1 {
			t.Fatalf("heal %d did not wait", n+2)
		}
		c.clock.now = c.clock.now.Add(healMin << n)
	}
	c.run(t)
	all := c.Findings("s")
	if len(all) != 1 || all[0].State != Contested || !strings.Contains(all[0].Message, "kubectl") {
		t.Errorf("%+v", all)
	}
	c.clock.now = c.clock.now.Add(conflictWithin / 2)
	c.live(2)
	c.run(t)
	if c.keeper.heals != conflictAfter {
		t.Error("an object in conflict is healed at once")
	}
	c.clock.now = c.clock.now.Add(conflictWithin)
	c.run(t)
	if c.keeper.heals != conflictAfter+1 {
		t.Error("an object in conflict is never tried again")
	}
	// The heals of the beginning are long ago by now, and are not forgotten.
	for n := range 3 {
		c.live(2)
		c.run(t)
		for range 10 {
			c.clock.now = c.clock.now.Add(conflictWithin / 20)
			c.run(t)
		}
		if got := c.keeper.heals - conflictAfter - 1; got != n {
			t.Errorf("%d heals in the %d. half of the time between two", got, n+1)
		}
		if all := c.Findings("s"); len(all) != 1 || all[0].State != Contested {
			t.Errorf("%+v", all)
		}
		for range 11 {
			c.clock.now = c.clock.now.Add(conflictWithin / 20)
			c.run(t)
		}
	}
	c.live(1)
	c.run(t)
	if all := c.Findings("s"); len(all) != 0 {
		t.Errorf("after the conflict: %+v", all)
	}
	// After some calm it is as if nothing had been.
	c.clock.now = c.clock.now.Add(conflictWithin + idle)
	c.run(t)
	c.clock.now = c.clock.now.Add(conflictWithin + idle)
	c.run(t)
	c.live(2)
	c.run(t)
	if all := c.Findings("s"); len(all) != 1 || all[0].State != Drifted {
		t.Errorf("after some calm: %+v", all)
	}
}

// A heal counts although its effect is seen before it is known to have ended.
func TestHealThatIsSeenAtOnceCounts(t *testing.T) {
	c := newConflict(t)
	c.keeper.seen = func() {
		c.live(1)
		c.round(t.Context())
	}
	for range 20 {
		c.live(2)
		c.run(t)
		c.clock.now = c.clock.now.Add(10 * time.Second)
	}
	if c.keeper.heals > conflictAfter {
		t.Errorf("%d heals in 200 s", c.keeper.heals)
	}
	c.live(2)
	c.run(t)
	if all := c.Findings("s"); len(all) != 1 || all[0].State != Contested {
		t.Errorf("%+v", all)
	}
}

func TestHealThatNeedsARenderAsksForAPass(t *testing.T) {
	c := newConflict(t)
	asked := ""
	c.cfg.NeedPass = func(service string) { asked = service }
	c.keeper.err = errcode.New(errcode.NotFound, "not rendered")
	c.live(2)
	c.run(t)
	if asked != "s" || c.keeper.heals != 1 {
		t.Errorf("asked for %q after %d heals", asked, c.keeper.heals)
	}
	c.keeper.err = errors.New("boom")
	c.clock.now = c.clock.now.Add(renderWait)
	c.run(t)
	if all := c.Findings("s"); len(all) != 1 || all[0].State != Drifted {
		t.Errorf("%+v", all)
	}
}

func TestJudge(t *testing.T) {
	want := kubeobj.Expected{Service: "s", Print: kubeobj.Fingerprint{Own: 1, Unscaled: 2, Foreign: 3}}
	good := kubeobj.Live{Service: "s", Tracked: true, Print: kubeobj.Fingerprint{Own: 1, Unscaled: 2, Foreign: 3}}
	for name, test := range map[string]struct {
		change func(*kubeobj.Expected, *kubeobj.Live)
		absent bool
		want   decision
	}{
		"as applied":             {want: leave},
		"deleted":                {absent: true, want: heal},
		"deleted, runs once":     {absent: true, change: func(e *kubeobj.Expected, _ *kubeobj.Live) { e.Once = true }, want: leave},
		"our fields changed":     {change: func(_ *kubeobj.Expected, l *kubeobj.Live) { l.Print.Own = 9 }, want: heal},
		"our fields gone":        {change: func(_ *kubeobj.Expected, l *kubeobj.Live) { l.Print.Own = 0 }, want: heal},
		"scaled":                 {change: func(_ *kubeobj.Expected, l *kubeobj.Live) { l.Print.Own, l.Print.Scaled = 9, true }, want: leave},
		"people added":           {change: func(_ *kubeobj.Expected, l *kubeobj.Live) { l.Print.Foreign = 9 }, want: report},
		"people took back":       {change: func(_ *kubeobj.Expected, l *kubeobj.Live) { l.Print.Foreign = 0 }, want: leave},
		"people added, strict":   {change: func(e *kubeobj.Expected, l *kubeobj.Live) { e.Strict, l.Print.Foreign = true, 9 }, want: heal},
		"annotation taken":       {change: func(_ *kubeobj.Expected, l *kubeobj.Live) { l.Service = "" }, want: heal},
		"controlled by an owner": {change: func(_ *kubeobj.Expected, l *kubeobj.Live) { l.Controlled, l.Print.Own = true, 9 }, want: leave},
		"being deleted":          {change: func(_ *kubeobj.Expected, l *kubeobj.Live) { l.Deleting, l.Print.Own = true, 9 }, want: leave},
	} {
		t.Run(name, func(t *testing.T) {
			e, l := want, good
			if test.change != nil {
				test.change(&e, &l)
			}
			if got, why := judge(e, l, !test.absent); got != test.want {
				t.Errorf("%d (%s), want %d", got, why, test.want)
			}
		})
	}
}

// A person's addition is only reported. A change of our fields meanwhile is healed at
// once: a report causes no back-off, because nothing was written.
func TestAReportHoldsNoHealBack(t *testing.T) {
	c := newConflict(t)
	seen := func(print kubeobj.Fingerprint) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.kind.objects[name{"ns", "a"}] = kubeobj.Live{Service: "s", Tracked: true, Cluster: "c", Print: print}
		c.dirtyLocked(c.keeper.want.Ref)
	}
	seen(kubeobj.Fingerprint{Own: 1, Foreign: 7, Human: "kubectl-edit"})
	c.run(t)
	if all := c.Findings("s"); c.keeper.heals != 0 || len(all) != 1 || !strings.Contains(all[0].Message, "kubectl-edit") {
		t.Fatalf("an addition: %d heals, %+v", c.keeper.heals, all)
	}
	looks := c.looks
	c.clock.now = c.clock.now.Add(time.Second)
	c.run(t)
	if c.looks > looks+1 {
		t.Errorf("what is only shown was looked at %d times although nothing changed", c.looks-looks)
	}
	seen(kubeobj.Fingerprint{Own: 2, Foreign: 7, Human: "kubectl-edit"})
	c.run(t)
	if c.keeper.heals != 1 {
		t.Errorf("%d heals of a field that was changed after an addition was reported", c.keeper.heals)
	}
}

// A failed attempt is repeated with growing delays. A drift that ended by itself and
// begins again does not wait for that.
func TestAFailedHealHoldsNoOtherBack(t *testing.T) {
	c := newConflict(t)
	c.keeper.err = errors.New("the API server is away")
	for n := 1; n < 8; n++ {
		c.live(2)
		c.run(t)
		c.clock.now = c.clock.now.Add(healMax)
	}
	c.keeper.err = nil
	c.live(1)
	c.run(t)
	before := c.keeper.heals
	c.keeper.err = errors.New("the API server is away")
	c.live(2)
	c.run(t)
	c.live(1)
	c.run(t)
	c.keeper.err = nil
	c.live(2)
	c.run(t)
	if c.keeper.heals != before+2 {
		t.Errorf("%d heals of two drifts, of which the first came right by itself", c.keeper.heals-before)
	}
}
