package globals_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/globals"
	"github.com/axle-cd/axle/hub/store/storetest"
)

// duringRendering is a context that calls a function each time that a template which is
// being rendered asks whether it should stop: between two of its steps.
type duringRendering struct {
	context.Context
	call func()
}

func (d duringRendering) Err() error {
	callers := make([]uintptr, 3)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	for more := true; more; {
		var frame runtime.Frame
		if frame, more = frames.Next(); strings.Contains(frame.Function, "/internal/liquid.") {
			d.call()
			break
		}
	}
	return d.Context.Err()
}

const (
	// dear takes more steps than a target may, and dearButFits nearly as many.
	dear        = "{% assign big = 60000 | repeat: 'a' %}{% for i in (1..9000) %}{% assign x = '(a+a+)+y' | regexMatch: big %}{% endfor %}x"
	dearButFits = "{% for i in (1..9500) %}{% endfor %}web"
)

func (b *bed) clusterIn(project, name string) {
	b.t.Helper()
	if _, err := b.CreateCluster(b.t.Context(), "ann", fleet.NewCluster{Name: name, Project: project, Tags: map[string]string{"tier": "dev"}}); err != nil {
		b.t.Fatal(err)
	}
}

// TestOthersWriteWhileATemplateIsRendered holds that no transaction is open while Liquid
// runs: another write completes between two steps of it.
func TestOthersWriteWhileATemplateIsRendered(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d)
		b.AddCluster("edge-0")
		r := request()
		r.Spec.Git.Folder = "{% for i in (1..5) %}{% endfor %}web"
		if _, _, err := b.Apply(t.Context(), "ann", r); err != nil {
			t.Fatal(err)
		}
		asked, wrote := 0, 0
		ctx := duringRendering{t.Context(), func() {
			if asked++; asked > 3 {
				return
			}
			own, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			if _, err := b.CreateProject(own, "root", fleet.NewProject{Name: fmt.Sprintf("made-%d", asked)}); err != nil {
				t.Errorf("an administrator's write while a template is rendered: %v", err)
				return
			}
			wrote++
		}}
		if err := b.Spread(ctx); err != nil {
			t.Fatal(err)
		}
		if wrote != 3 || b.target("edge-0").Spec.Git.Folder != "web" {
			t.Errorf("%d writes while a template was rendered, want 3; the target is %+v", wrote, b.target("edge-0").Spec.Git)
		}
	})
}

// TestDearTemplateIsRecordedAndLeftAlone holds that a template which takes too much is a
// failure of its target, with the field and the limit, and is tried again only when it, or
// what it sees, is another one.
func TestDearTemplateIsRecordedAndLeftAlone(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d)
		b.AddCluster("edge-0")
		r := request()
		r.Spec.Git.Folder = dear
		g, _, err := b.Apply(t.Context(), "ann", r)
		if err != nil {
			t.Fatal(err)
		}
		asked := 0
		spread := func() int {
			asked = 0
			if err := b.Spread(duringRendering{t.Context(), func() { asked++ }}); err != nil {
				t.Fatal(err)
			}
			return asked
		}
		if spread() == 0 {
			t.Fatal("it was not rendered")
		}
		state, err := b.State(t.Context(), g.ID)
		if err != nil || len(state.Failures) != 1 || !strings.Contains(state.Failures[0].Message, "template.git.folder: ") || !strings.Contains(state.Failures[0].Message, "more than 10000 steps") {
			t.Fatalf("the failure: %+v, %v", state.Failures, err)
		}
		// What has nothing to do with it compares the cluster again.
		other := request()
		other.Name, other.Spec.Namespace = "other", "other"
		if _, _, err := b.Apply(t.Context(), "ann", other); err != nil {
			t.Fatal(err)
		}
		if _, err := b.d.SQL(t).ExecContext(t.Context(), "INSERT INTO global_pending (global_id, cluster_id, edition) SELECT '', id, 1 FROM clusters WHERE name = 'edge-0'"); err != nil {
			t.Fatal(err)
		}
		if n := spread(); n != 0 {
			t.Errorf("it was tried again: %d steps", n)
		}
		if state, err := b.State(t.Context(), g.ID); err != nil || len(state.Failures) != 1 {
			t.Errorf("the failure is gone: %+v, %v", state, err)
		}
		tags := map[string]string{"tier": "dev", "more": "1"}
		if _, err := b.UpdateCluster(t.Context(), "ann", "edge-0", fleet.ClusterChange{Tags: &tags}); err != nil {
			t.Fatal(err)
		}
		if spread() == 0 {
			t.Error("it was not tried again with other tags")
		}
	})
}

// TestProjectsTakeTurns holds that the dear templates of one project do not come before
// the work of another, and that a turn ends although there is more.
func TestProjectsTakeTurns(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d)
		var made []globals.Global
		for _, project := range []string{"red", "blue"} {
			if _, err := b.CreateProject(t.Context(), "ann", fleet.NewProject{Name: project}); err != nil {
				t.Fatal(err)
			}
			r := request()
			r.Name, r.Project = project, project
			made = append(made, b.apply(r))
		}
		// The dear one is the one that comes first.
		first, second := made[0], made[1]
		if second.ID < first.ID {
			first, second = second, first
		}
		const clusters = 12
		for n := range clusters {
			b.clusterIn(first.Name, fmt.Sprintf("%s-%d", first.Name, n))
		}
		b.clusterIn(second.Name, second.Name+"-0")
		if err := b.Spread(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, g := range []globals.Global{first, second} {
			r := request()
			r.Name, r.Project = g.Name, g.Name
			r.Spec.Git.Folder = "{{ cluster.handle | default: 'x' }}"
			if g.ID == first.ID {
				r.Spec.Git.Folder = dearButFits
			}
			if _, _, err := b.Apply(t.Context(), "ann", r); err != nil {
				t.Fatal(err)
			}
		}
		// The clock moves while a template is rendered, so each slice is a turn.
		ctx := duringRendering{t.Context(), func() { b.Clock.Advance(time.Millisecond) }}
		turns := 0
		for more := true; more; turns++ {
			before := b.changed(second, 1)
			var err error
			if more, err = b.SpreadSome(ctx); err != nil {
				t.Fatal(err)
			}
			if n := b.changed(first, clusters); before == 0 && b.changed(second, 1) == 1 && n == clusters {
				t.Error("the other project waited for all of the dear ones")
			}
		}
		if turns < 3 || b.changed(first, clusters) != clusters || b.changed(second, 1) != 1 {
			t.Errorf("after %d turns, %d of %d clusters of the dear one are done, and %d of the other", turns, b.changed(first, clusters), clusters, b.changed(second, 1))
		}
	})
}

// changed counts the clusters of a project on which a template with Liquid has come.
func (b *bed) changed(g globals.Global, clusters int) (n int) {
	b.t.Helper()
	for i := range clusters {
		v := b.Must(b.Service(b.t.Context(), fleet.Ref{Cluster: fmt.Sprintf("%s-%d", g.Name, i), Name: g.Name}))
		if v.OwnerID == "" { // it has a spec of its own
			n++
		}
	}
	return n
}

// TestOthersWriteWhileARolloutRenders holds the same for the clusters that a rollout
// places, which are known in its transaction only.
func TestOthersWriteWhileARolloutRenders(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newRolling(t, d, 3)
		b.color("blue", func(r *globals.Request) { r.Spec.Git.Folder = "{% for i in (1..5) %}{% endfor %}web" })
		b.Clock.Advance(time.Second)
		asked, wrote := 0, 0
		ctx := duringRendering{t.Context(), func() {
			if asked++; asked > 3 {
				return
			}
			own, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			if _, err := b.CreateProject(own, "root", fleet.NewProject{Name: fmt.Sprintf("made-%d", asked)}); err != nil {
				t.Errorf("an administrator's write while a rollout renders: %v", err)
				return
			}
			wrote++
		}}
		if _, err := b.rollouts().Turn(ctx); err != nil {
			t.Fatal(err)
		}
		placed := 0
		for n := range 3 {
			if v := b.target(fmt.Sprintf("edge-%02d", n)); v.OwnerID == "" && v.Spec.Configuration["color"] == "blue" {
				placed++
			}
		}
		if wrote != 3 || placed != 1 {
			t.Errorf("%d writes while a rollout rendered, want 3, and %d clusters placed, want that of the first wave", wrote, placed)
		}
	})
}
