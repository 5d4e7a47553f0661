package globals_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/fanout"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/fleet/globals"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
)

// rolling is a bed whose global service rolls out in waves.
type rolling struct {
	*bed
	last    map[string]string // the hash of the last report, by service
	reports int
}

func newRolling(t *testing.T, d storetest.Database, clusters int) *rolling {
	t.Helper()
	b := &rolling{bed: newBed(t, d), last: map[string]string{}}
	for n := range clusters {
		b.AddCluster(fmt.Sprintf("edge-%02d", n))
	}
	b.color("red")
	return b
}

// rollouts are those of a replica that knows nothing yet, and whose agents all poll.
func (b *rolling) rollouts() *globals.Rollouts {
	return globals.NewRollouts(b.Globals, func(string, int64) fleet.Freshness { return fleet.Fresh })
}

func (b *rolling) color(color string, change ...func(*globals.Request)) globals.Global {
	b.t.Helper()
	r := request()
	r.Spec.Configuration = map[string]string{"color": color}
	r.Plan = &fanout.Plan{Waves: []string{"1", "30%", "100%"}, Soak: time.Minute}
	for _, f := range change {
		f(&r)
	}
	return b.apply(r)
}

// turn lets some time pass, and continues the rollout.
func (b *rolling) turn(after time.Duration) {
	b.t.Helper()
	b.Clock.Advance(after)
	if _, err := b.rollouts().Turn(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	b.spread()
}

// report has agents report how their targets are.
func (b *rolling) report(sync fleet.Sync, health fleet.Health, clusters ...string) {
	b.t.Helper()
	b.Clock.Advance(time.Millisecond)
	for _, cluster := range clusters {
		v := b.target(cluster)
		b.reports++
		hash := fmt.Sprintf("report-%d", b.reports)
		r := fleettest.ReportOf(v, b.last[v.ID], hash)
		r.Status.Sync, r.Status.Health, r.Status.Message = sync, health, "says its agent"
		b.Report(fleet.ReportBatch{ClusterID: v.ClusterID, Reports: []fleet.Report{r}})
		b.last[v.ID] = hash
	}
}

// wants compares the clusters that have a color.
func (b *rolling) wants(step, color string, clusters ...string) {
	b.t.Helper()
	var have []string
	for n := range 20 {
		cluster := fmt.Sprintf("edge-%02d", n)
		v, err := b.Service(b.t.Context(), fleet.Ref{Cluster: cluster, Name: "web"})
		if err == nil && v.Spec.Configuration["color"] == color {
			have = append(have, cluster)
		}
	}
	if !slices.Equal(have, clusters) {
		b.t.Errorf("%s: %s is on %v, want %v", step, color, have, clusters)
	}
}

func (b *rolling) phase(step string, want fanout.Phase, wave int) fanout.Rollout {
	b.t.Helper()
	r, _, err := b.rollouts().Latest(b.t.Context(), "web")
	if err != nil || r.Phase != want || r.Wave != wave {
		b.t.Errorf("%s: %s in wave %d (%s), %v; want %s in wave %d", step, r.Phase, r.Wave, r.Message, err, want, wave)
	}
	return r
}

func names(from, to int) (all []string) {
	for n := from; n <= to; n++ {
		all = append(all, fmt.Sprintf("edge-%02d", n))
	}
	return all
}

// A changed template reaches its targets wave by wave. A cluster that comes
// meanwhile gets the former one, and all have the new one in the end.
func TestChangedTemplateRollsOutInWaves(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newRolling(t, d, 10)
		b.wants("the first template needs no waves", "red", names(0, 9)...)
		b.color("blue")
		b.wants("declared", "red", names(0, 9)...)
		b.AddCluster("edge-10")
		b.spread()
		b.wants("a cluster comes", "red", names(0, 10)...)
		b.turn(0)
		b.wants("wave 1", "blue", "edge-00")
		b.turn(time.Minute)
		b.wants("its agent has not reported", "blue", "edge-00")
		b.report(fleet.Synced, fleet.Progressing, "edge-00")
		b.turn(time.Minute)
		b.report(fleet.Synced, fleet.Healthy, "edge-00")
		b.turn(0)
		b.wants("healthy for no time", "blue", "edge-00")
		b.turn(time.Minute)
		b.phase("healthy for a minute", fanout.Progressing, 1)
		// 30 % of the eleven clusters that it began with, rounded up.
		b.wants("wave 2", "blue", names(0, 3)...)

		// A commit goes to every target, with the template that it has.
		b.Move(b.target("edge-00"), 2)
		if blue, red := b.target("edge-00"), b.target("edge-09"); blue.Desired.Digest != red.Desired.Digest || blue.SpecDigest == red.SpecDigest {
			t.Errorf("after a commit: %+v and %+v", blue.Service, red.Service)
		}
		b.report(fleet.Synced, fleet.Healthy, names(0, 3)...)
		b.turn(0)
		b.turn(time.Minute)
		b.wants("wave 3", "blue", names(0, 10)...)
		b.report(fleet.Synced, fleet.Healthy, names(0, 10)...)
		b.turn(0)
		b.phase("all report", fanout.Progressing, 2)
		b.turn(time.Minute)
		b.phase("healthy for a minute", fanout.Done, 2)
		if g, err := b.Globals.Get(t.Context(), "web"); err != nil || g.Held != 0 {
			t.Errorf("at the end the former template is held: %+v, %v", g, err)
		}
		for _, v := range []fleet.ServiceView{b.target("edge-00"), b.target("edge-10")} {
			if v.Undelivered || v.OwnerID == "" {
				t.Errorf("at the end: %+v", v.Service)
			}
		}
	})
}

// Failures stop a rollout. A person resumes it, or takes it back.
func TestFailingRolloutStopsAndGoesBack(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newRolling(t, d, 10)
		was := b.target("edge-00")
		g := b.color("blue")
		b.turn(0)
		b.report(fleet.Failed, fleet.Degraded, "edge-00")
		b.turn(0)
		if r := b.phase("the agent reports a failure", fanout.Stopped, 0); !strings.Contains(r.Message, "edge-00: says its agent") {
			t.Errorf("it says %q", r.Message)
		}
		b.turn(time.Hour)
		b.wants("an hour later", "blue", "edge-00")
		change := func(command globals.Command) {
			t.Helper()
			if err := b.rollouts().Change(t.Context(), "ann", "web", command); err != nil {
				t.Fatal(err)
			}
		}
		change((*fanout.Engine).Resume)
		b.turn(time.Minute)
		b.wants("resumed", "blue", names(0, 2)...)
		change((*fanout.Engine).Pause)
		b.report(fleet.Synced, fleet.Healthy, names(0, 2)...)
		b.turn(0)
		b.turn(time.Hour)
		b.wants("paused", "blue", names(0, 2)...)
		change((*fanout.Engine).Resume)
		change((*fanout.Engine).Abort)
		b.turn(0)
		b.phase("aborted", fanout.Aborted, 1)
		b.wants("aborted", "red", names(0, 9)...)
		if now := b.target("edge-00"); now.SpecDigest != was.SpecDigest || now.Undelivered || now.Revision != 3 {
			t.Errorf("taken back: %+v, want the spec digest %s and revision 3", now.Service, was.SpecDigest)
		}
		b.turn(time.Hour)
		b.wants("much later", "red", names(0, 9)...)
		if err := b.rollouts().Change(t.Context(), "ann", "web", (*fanout.Engine).Resume); !errcode.Is(err, errcode.Conflict) {
			t.Errorf("an aborted rollout is resumed: %v", err)
		}

		// What Git then declares is what runs: nothing is left to roll out.
		back := b.color("red")
		b.turn(0)
		b.turn(time.Minute)
		b.phase("taken back in Git too", fanout.Done, 2)
		if now, err := b.Globals.Get(t.Context(), "web"); err != nil || now.Held != 0 || back.SpecVersion == g.SpecVersion {
			t.Errorf("taken back in Git too: %+v, %v", now, err)
		}
		if n := b.count("SELECT count(*) FROM rollouts"); n != 1 {
			t.Errorf("%d rollouts are kept, want the last one", n)
		}
		b.wants("taken back in Git too", "red", names(0, 9)...)
	})
}

// Another change takes the place of a rollout, and without a plan all get it.
func TestChangesDuringARollout(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newRolling(t, d, 10)
		takes := func(r *globals.Request) { r.Reparent = true }
		b.color("blue", takes)
		b.turn(0)
		b.wants("wave 1", "blue", "edge-00")
		b.color("green", takes)
		b.wants("changed again", "blue", "edge-00")
		b.turn(0)
		b.wants("changed again, wave 1", "green", "edge-00")
		b.wants("changed again, the others", "red", names(1, 9)...)
		b.phase("changed again", fanout.Progressing, 0)

		// Selectors act at once, also on clusters that wait.
		b.retag("edge-05", map[string]string{"tier": "prod"})
		b.retag("edge-05", map[string]string{"tier": "dev"})
		b.wants("a cluster left and came", "red", names(1, 9)...)

		b.color("green", takes, func(r *globals.Request) { r.Plan = nil })
		b.wants("without a plan", "green", names(0, 9)...)
		b.turn(0)
		if err := b.rollouts().Change(t.Context(), "ann", "web", (*fanout.Engine).Abort); !errcode.Is(err, errcode.Conflict) {
			t.Errorf("a rollout that is over is aborted: %v", err)
		}
		r := request()
		r.Plan = &fanout.Plan{Waves: []string{"0"}}
		if _, _, err := b.Globals.Apply(t.Context(), "ann", r); !errcode.Is(err, errcode.Invalid) || !strings.Contains(err.Error(), "rollout: waves") {
			t.Errorf("a plan that cannot work: %v", err)
		}
	})
}

// A cluster whose agent is away gets the template with its wave, and no wave waits
// for it. One that a person pinned is not judged.
func TestRolloutPassesClustersThatAreAway(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newRolling(t, d, 4)
		away := b.target("edge-02").ClusterID
		fresh := func(id string, _ int64) fleet.Freshness {
			if id == away {
				return fleet.Stale
			}
			return fleet.Fresh
		}
		b.Move(b.target("edge-00"), 2)
		b.Must(b.RollbackService(t.Context(), "ann", b.target("edge-00").Ref(), 1))
		b.color("blue", func(r *globals.Request) { r.Plan = &fanout.Plan{Waves: []string{"50%", "100%"}, Soak: time.Minute} })
		for range 8 {
			b.report(fleet.Synced, fleet.Healthy, "edge-01", "edge-03")
			b.Clock.Advance(30 * time.Second)
			if _, err := globals.NewRollouts(b.Globals, fresh).Turn(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		b.phase("at the end", fanout.Done, 1)
		b.wants("at the end", "blue", names(0, 3)...)
		if v := b.target("edge-00"); v.Revision != 1 {
			t.Errorf("the pinned target has revision %d", v.Revision)
		}
	})
}
