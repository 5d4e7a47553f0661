package globals_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/config"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/fleet/globals"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
)

func TestTargetsShareWhatTheirTemplateDeclares(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d)
		for n := range 3 {
			b.AddCluster(fmt.Sprintf("edge-%d", n))
		}
		r := request()
		r.Spec.Secrets = map[string]string{"password": "swordfish"}
		g := b.apply(r)
		b.retag("edge-2", nil)
		web := b.target("edge-0")
		if web.OwnerID != g.ID || web.ManagedBy != g.Manager() || web.Revision != 1 || web.Desired.Digest == "" || web.ProjectID != fleet.DefaultProjectID {
			t.Fatalf("the target is %+v", web.Service)
		}
		for query, want := range map[string]int{
			"SELECT count(*) FROM specs":     1,
			"SELECT count(*) FROM revisions": 1,
			"SELECT count(*) FROM contents":  1,
			"SELECT count(*) FROM services":  3, // one is a service of nobody now
		} {
			if query == "SELECT count(*) FROM specs" || query == "SELECT count(*) FROM revisions" {
				want++ // and the copies of the released one
			}
			if n := b.count(query); n != want {
				t.Errorf("%s: %d, want %d", query, n, want)
			}
		}
		specs, missing, err := b.AgentSpecs(t.Context(), web.ClusterID, []string{web.ID})
		if err != nil || len(missing) > 0 || len(specs) != 1 || specs[0].Secrets["password"] != "swordfish" || specs[0].Service.Spec.Git.Folder != "web" {
			t.Fatalf("the agent gets %+v, %v, %v", specs, missing, err)
		}
		// A commit is one revision for all.
		b.Move(web, 2)
		if now := b.target("edge-1"); now.Revision != 2 || now.Desired.Digest == web.Desired.Digest {
			t.Errorf("after a commit: %+v", now.Service)
		}
		if n := b.count("SELECT count(*) FROM revisions WHERE number = 2"); n != 2 {
			t.Errorf("a commit made %d revisions, want one for both targets and one for the released service", n)
		}
		if free := b.target("edge-2"); free.OwnerID != "" || free.ManagedBy != (managed.Manager{}) || free.Revision != 2 {
			t.Errorf("the released service: %+v", free.Service)
		}
	})
}

func TestTemplateIsEdited(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d)
		b.AddCluster("edge-0")
		b.AddCluster("edge-1")
		b.apply(request())
		was := b.target("edge-1")
		r := request()
		r.Spec.Configuration = map[string]string{"color": "blue"}
		b.apply(r)
		now := b.target("edge-1")
		if now.ID != was.ID || now.Revision != 2 || now.SpecDigest == was.SpecDigest || now.Spec.Configuration["color"] != "blue" || now.Undelivered {
			t.Fatalf("after an edit: %+v", now.Service)
		}
		if n := b.count("SELECT count(*) FROM revisions"); n != 2 {
			t.Errorf("%d revisions, want 2", n)
		}
		before, err := b.Store.LastSequence(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, outcome, err := b.Apply(t.Context(), "bob", r); err != nil || outcome != fleet.Unchanged {
			t.Errorf("the same again: %s, %v", outcome, err)
		}
		b.spread()
		if after, err := b.Store.LastSequence(t.Context()); err != nil || after != before {
			t.Errorf("the same again appended %d rows, %v", after-before, err)
		}
		// Nobody else writes a target, and one service can still be handled.
		if _, err := b.UpdateService(t.Context(), "bob", now.Ref(), fleettest.Spec("other"), nil, false); !errcode.Is(err, errcode.Conflict) {
			t.Errorf("an update of a target: %v", err)
		}
		back := b.Must(b.RollbackService(t.Context(), "bob", now.Ref(), 1))
		if back.Revision != 1 || back.PinnedRevision != 1 || back.SpecDigest != was.SpecDigest {
			t.Errorf("rolled back: %+v", back.Service)
		}
		b.Move(now, 2)
		if pinned := b.target("edge-1"); pinned.Revision != 1 || b.target("edge-0").Revision != 3 {
			t.Errorf("a commit moved the pinned target to %d, the other to %d", pinned.Revision, b.target("edge-0").Revision)
		}
		if again := b.Must(b.ResumeService(t.Context(), "bob", now.Ref())); again.Revision != 3 || again.Desired.Digest != b.target("edge-0").Desired.Digest {
			t.Errorf("resumed: %+v", again.Service)
		}
		if synced := b.Must(b.SyncService(t.Context(), "bob", now.Ref())); synced.OwnerID == "" || synced.SyncRequest != 1 {
			t.Errorf("synced: %+v", synced.Service)
		}
		revisions, err := b.Revisions(t.Context(), now.Ref())
		if err != nil || len(revisions) != 3 || !revisions[0].Current {
			t.Errorf("revisions: %+v, %v", revisions, err)
		}
	})
}

// A source without content makes targets that wait, and its first content is one
// revision for all.
func TestTargetsWaitForTheirSource(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d)
		b.AddCluster("edge-0")
		b.AddCluster("edge-1")
		r := request()
		r.Spec = fleettest.Spec("late")
		b.apply(r)
		if v := b.target("edge-0"); v.Revision != 0 || v.SpecDigest == "" {
			t.Fatalf("without content: %+v", v.Service)
		}
		b.MoveTo(b.target("edge-0").SourceID, 1)
		if v := b.target("edge-1"); v.Revision != 1 || v.Desired.Digest == "" || b.count("SELECT count(*) FROM revisions") != 1 {
			t.Errorf("with content: %+v", v.Service)
		}
		r.Spec = fleettest.Spec("later")
		b.apply(r)
		if v := b.target("edge-0"); !v.Undelivered || v.Revision != 1 {
			t.Errorf("edited to a source without content: %+v", v.Service)
		}
	})
}

func TestClusterIsComparedWhenItChanges(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d)
		b.AddCluster("edge-0")
		r := request()
		r.Cascade = globals.Delete
		g := b.apply(r)
		b.AddCluster("edge-1")
		b.spread()
		if b.target("edge-1").OwnerID != g.ID {
			t.Fatal("a new cluster has no target")
		}
		b.retag("edge-0", map[string]string{"tier": "prod"})
		if v := b.target("edge-0"); v.Deleting != fleet.Drain || v.ManagedBy != (managed.Manager{}) || v.OwnerID != "" {
			t.Errorf("on a cluster that is not selected any more: %+v", v.Service)
		}
		// While the old one drains, its name is taken.
		b.retag("edge-0", map[string]string{"tier": "dev"})
		v := b.target("edge-0")
		if v.Deleting == "" {
			t.Fatal("the tombstone is gone")
		}
		b.Report(fleet.ReportBatch{ClusterID: v.ClusterID, Drained: []string{v.TombstoneID}})
		b.spread()
		if v := b.target("edge-0"); v.Deleting != "" || v.OwnerID != g.ID {
			t.Errorf("after it drained: %+v", v.Service)
		}
		if n := b.count("SELECT count(*) FROM global_pending"); n != 0 {
			t.Errorf("%d rows of work are left", n)
		}
	})
}

func TestDeletedGlobalServiceReleasesItsTargets(t *testing.T) {
	for cascade, want := range map[globals.Cascade]fleet.Deletion{globals.Orphan: "", globals.Delete: fleet.Drain, globals.Detach: fleet.Detach} {
		t.Run("cascade "+string(cascade), func(t *testing.T) {
			storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
				b := newBed(t, d)
				b.AddCluster("edge-0")
				if _, err := b.CreateCluster(t.Context(), "ann", fleet.NewCluster{Name: "edge-1", Tags: map[string]string{"tier": "dev"}, FleetWide: true}); err != nil {
					t.Fatal(err)
				}
				r := request()
				r.Cascade = cascade
				r.Spec.Secrets = map[string]string{"password": "swordfish"}
				b.apply(r)
				if err := b.Delete(t.Context(), "ann", "web", ""); err != nil {
					t.Fatal(err)
				}
				if _, _, err := b.Apply(t.Context(), "ann", r); !errcode.Is(err, errcode.Conflict) {
					t.Errorf("applied while it is deleted: %v", err)
				}
				b.spread()
				if _, err := b.Globals.Get(t.Context(), "web"); !errcode.Is(err, errcode.NotFound) {
					t.Errorf("still there: %v", err)
				}
				v := b.target("edge-0")
				if v.Deleting != want || v.OwnerID != "" || v.ManagedBy != (managed.Manager{}) || v.Spec.Git == nil {
					t.Errorf("its target: %+v", v.Service)
				}
				if cascade != globals.Orphan {
					b.wantNone("edge-1")
					return
				}
				specs, _, err := b.AgentSpecs(t.Context(), v.ClusterID, []string{v.ID})
				if err != nil || len(specs) != 1 || specs[0].Secrets["password"] != "swordfish" {
					t.Errorf("the agent of an orphan gets %+v, %v", specs, err)
				}
				b.Must(b.UpdateService(t.Context(), "bob", v.Ref(), fleettest.Spec("web"), nil, false))
			})
		})
	}
}

func TestServiceOfTheSameNameIsLeftAlone(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d)
		b.AddCluster("edge-0")
		own := b.AddService("edge-0", "web")
		b.Move(own, 2)
		b.apply(request())
		if v := b.target("edge-0"); v.ID != own.ID || v.ManagedBy == (managed.Manager{Tool: managed.Hub}) || v.OwnerID != "" || v.UpdatedAt != own.UpdatedAt {
			t.Fatalf("was touched: %+v", v.Service)
		}
		r := request()
		r.Reparent = true
		r.Spec.Configuration = map[string]string{"color": "blue"}
		g := b.apply(r)
		// It keeps its own history.
		v := b.target("edge-0")
		if v.ID != own.ID || v.ManagedBy != g.Manager() || v.OwnerID != "" || v.Revision != 3 || v.Spec.Configuration["color"] != "blue" {
			t.Fatalf("was not taken over: %+v", v.Service)
		}
		sequence, _ := b.Store.LastSequence(t.Context())
		b.retag("edge-0", map[string]string{"tier": "dev", "more": "1"})
		if v := b.target("edge-0"); v.Revision != 3 {
			t.Errorf("a comparison that finds nothing made revision %d (from feed %d)", v.Revision, sequence)
		}
	})
}

// A template with Liquid gives each cluster its own; what fails on one does not
// hold up the others, and says field and reason.
func TestLiquidOfATemplate(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d)
		for _, name := range []string{"edge-0", "edge-1"} {
			b.AddCluster(name)
			b.Upstream.Commit(fleettest.SourceID("repo_main", "main", "apps/blue/"+name), 1)
		}
		b.apply(request())
		r := request()
		r.Context = `{"color": "blue"}`
		r.Spec.Git.Folder = "apps/{{ context.color }}/{{ cluster.handle }}"
		g := b.apply(r)
		for _, name := range []string{"edge-0", "edge-1"} {
			if v := b.target(name); v.Spec.Git.Folder != "apps/blue/"+name || v.Revision != 2 || v.OwnerID != "" || v.ManagedBy != g.Manager() {
				t.Errorf("%s: %+v", name, v.Service)
			}
		}
		if revisions, err := b.Revisions(t.Context(), b.target("edge-0").Ref()); err != nil || len(revisions) != 2 {
			t.Errorf("the history before the Liquid: %+v, %v", revisions, err)
		}
		was := b.target("edge-0")
		b.retag("edge-1", map[string]string{"tier": "dev", "ring": "one"})
		r.Spec.Git.Folder = "apps/{{ cluster.tags.ring }}"
		g = b.apply(r)
		if v := b.target("edge-1"); v.Spec.Git.Folder != "apps/one" {
			t.Errorf("edge-1: %+v", v.Spec.Git)
		}
		if v := b.target("edge-0"); v.Spec.Git.Folder != was.Spec.Git.Folder || v.SpecDigest != was.SpecDigest {
			t.Errorf("a failing target was changed: %+v", v.Service)
		}
		counts, err := b.State(t.Context(), g.ID)
		failures := counts.Failures
		if err != nil || counts.Targets != 2 || counts.Failing != 1 || len(failures) != 1 || failures[0].Cluster != "edge-0" || !strings.Contains(failures[0].Message, "template.git.folder: {{ cluster.tags.ring }} is empty on this cluster") {
			t.Errorf("state: %+v, %+v, %v", counts, failures, err)
		}
		b.retag("edge-0", map[string]string{"tier": "dev", "ring": "two"})
		if state, err := b.State(t.Context(), g.ID); err != nil || len(state.Failures) != 0 || b.target("edge-0").Spec.Git.Folder != "apps/two" {
			t.Errorf("healed: %+v, %v", state, err)
		}
		r.Spec.Git.Folder = "apps/{{ cluster.tags.ring"
		if _, _, err := b.Apply(t.Context(), "ann", r); !errcode.Is(err, errcode.Invalid) || !strings.Contains(err.Error(), "template.git.folder") {
			t.Errorf("Liquid that cannot be read: %v", err)
		}
	})
}

// A changed context reaches targets that share their template's values, and those
// whose template has Liquid in the names of contexts.
func TestTargetsTakeChangedContexts(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d)
		b.AddCluster("edge-0")
		b.SetValues(config.ValueSetChange{Kind: config.KindContext, Name: "edge-0", ValueSet: fleet.ValueSet{Values: map[string]any{"color": "red"}}})
		color := func() string {
			v := b.target("edge-0")
			specs, _, err := b.AgentSpecs(t.Context(), v.ClusterID, []string{v.ID})
			if err != nil || len(specs) != 1 {
				t.Fatal(specs, err)
			}
			return specs[0].Configuration["color"]
		}
		r := request()
		for n, name := range []string{"edge-0", "{{ cluster.handle }}"} {
			r.Spec.Contexts = []string{name}
			g := b.apply(r)
			if got := color(); got != []string{"red", "blue0"}[n] {
				t.Fatalf("%s: color %s", name, got)
			}
			blue := fmt.Sprint("blue", n)
			b.SetValues(config.ValueSetChange{Kind: config.KindContext, Name: "edge-0", ValueSet: fleet.ValueSet{Values: map[string]any{"color": blue}}})
			users, err := b.Store.UsedBy(t.Context(), fleet.Use{Kind: fleet.UseContext, Name: "edge-0"}, "")
			if err != nil || len(users) != 1 {
				t.Fatalf("%s is used by %v, %v", name, users, err)
			}
			if users[0] == g.ID {
				_, err = b.Globals.Reconfigure(t.Context(), g.ID, "ann", false)
			} else {
				_, err = b.Retake(t.Context(), users[0])
			}
			if err != nil {
				t.Fatal(err)
			}
			b.spread()
			if got := color(); got != blue {
				t.Errorf("%s: color %s after the change", name, got)
			}
		}
	})
}

// stopping is a database that is gone after some transactions.
type stopping struct {
	fleet.Writer
	left int
}

var errKilled = errors.New("killed")

func (s *stopping) Write(ctx context.Context, fn func(ctx context.Context) error) error {
	if s.left--; s.left < 0 {
		return errKilled
	}
	return s.Writer.Write(ctx, fn)
}

// Whatever transaction was the last one before a kill, the next start ends the work.
func TestKilledSpreadIsCarriedOn(t *testing.T) {
	const clusters = 1100
	d := storetest.Postgres(t)
	b := newBed(t, d)
	c := b.AddCluster("edge-00000")
	d.Copies(t, "clusters", "id = '"+c.ID+"'", clusters-1, map[string]string{"id": storetest.Numbered("cl-"), "name": storetest.Numbered("edge-"), "handle": storetest.Numbered("edge-")})
	r := request()
	for round := range 5 {
		r.Spec.Configuration = map[string]string{"round": fmt.Sprint(round)}
		if round == 4 {
			if err := b.Delete(t.Context(), "ann", "web", ""); err != nil {
				t.Fatal(err)
			}
		} else if _, _, err := b.Apply(t.Context(), "ann", r); err != nil {
			t.Fatal(err)
		}
		if err := b.Global(&stopping{b.Store, round}).Spread(t.Context()); !errors.Is(err, errKilled) && round < 4 {
			t.Fatalf("was not killed: %v", err)
		}
		b.spread()
		if round == 4 {
			break
		}
		for query, want := range map[string]int{
			"SELECT count(*) FROM services WHERE revision = " + fmt.Sprint(round+1): clusters,
			"SELECT count(*) FROM revisions":                                        round + 1,
			"SELECT count(*) FROM global_pending":                                   0,
		} {
			if n := b.count(query); n != want {
				t.Errorf("round %d: %s: %d, want %d", round, query, n, want)
			}
		}
	}
	if n := b.count("SELECT count(*) FROM services WHERE owner_id = '' AND managed_by_tool = ''"); n != clusters {
		t.Errorf("%d orphans, want %d", n, clusters)
	}
}

// A project's global service never reaches clusters or services of another one.
func TestProjectsGlobalServiceStaysInItsProject(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d)
		if _, err := b.CreateProject(t.Context(), "ann", fleet.NewProject{Name: "shop", Limits: fleet.Limits{Namespaces: []string{"web", "shop-*"}}}); err != nil {
			t.Fatal(err)
		}
		b.AddCluster("edge-0")
		c, err := b.CreateCluster(t.Context(), "ann", fleet.NewCluster{Name: "shop-0", Project: "shop", Tags: map[string]string{"tier": "dev"}})
		if err != nil {
			t.Fatal(err)
		}
		b.EnrollCluster(c.ID)
		r := request()
		r.Project, r.Reparent = "shop", true
		g := b.apply(r)
		b.wantNone("edge-0")
		if v := b.target("shop-0"); v.Project != "shop" || v.Limits.Zero() || g.ProjectID == "" {
			t.Errorf("the target: %+v", v.Service)
		}
		r.Spec.Namespace = "kube-system"
		b.apply(r)
		state, err := b.State(t.Context(), g.ID)
		if err != nil || len(state.Failures) != 1 || !strings.Contains(state.Failures[0].Message, "namespace: kube-system is not one that project shop may use") {
			t.Errorf("a namespace that the project forbids: %+v, %v", state, err)
		}
		if err := b.DeleteProject(t.Context(), "ann", "shop"); !errcode.Is(err, errcode.Conflict) {
			t.Errorf("the project was deleted: %v", err)
		}
	})
}

// A commit appends at most a row to the feed for each 500 targets: 20 for 10,000.
func TestCommitOfManyTargetsIsFewFeedRows(t *testing.T) {
	const clusters = 2_500
	d := storetest.Postgres(t)
	b := newBed(t, d)
	c := b.AddCluster("edge-00000")
	d.Copies(t, "clusters", "id = '"+c.ID+"'", clusters-1, map[string]string{"id": storetest.Numbered("cl-"), "name": storetest.Numbered("edge-"), "handle": storetest.Numbered("edge-")})
	b.apply(request())
	web := b.target("edge-00000")
	at := func() int64 {
		n, err := b.Store.LastSequence(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := at()
	b.Move(web, 2)
	if n := at() - before; n > clusters/500 {
		t.Errorf("a commit appended %d rows, want at most one for each 500 targets", n)
	}
	if n := b.count("SELECT count(*) FROM services WHERE revision = 2"); n != clusters {
		t.Errorf("%d targets moved", n)
	}
	if n := b.count("SELECT count(*) FROM revisions"); n != 2 {
		t.Errorf("%d revisions, want 2", n)
	}
	before = at()
	r := request()
	r.Spec.Configuration = map[string]string{"color": "blue"}
	b.apply(r)
	if n := at() - before; n != clusters/500+1 {
		t.Errorf("an edit appended %d rows, want one for each 500 clusters and its own", n)
	}
}

// Targets wait for a service of another cluster as other services do, although a commit
// moves targets without reading them.
func TestTargetsWaitForAServiceOfAnotherCluster(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d)
		b.AddCluster("edge-0")
		b.AddCluster("core")
		db := b.AddService("core", "db")
		b.Move(db, 1)
		r := request()
		r.Spec.Dependencies = []fleet.Dependency{{Name: "db", Cluster: "core"}}
		b.apply(r)
		web := b.target("edge-0")
		wants := func(step string, revision int64, reason string) {
			t.Helper()
			if v := b.target("edge-0"); v.Revision != revision || v.Reason != reason {
				t.Errorf("%s: revision %d, %s: %s", step, v.Revision, v.Reason, v.Message)
			}
		}
		wants("nothing was reported", 0, fleet.ReasonDependency)
		report := func(base, hash string, h fleet.Health) {
			t.Helper()
			one := fleettest.ReportOf(b.Must(b.Service(t.Context(), db.Ref())), base, hash)
			one.Status.Health = h
			b.Report(fleet.ReportBatch{ClusterID: db.ClusterID, Reports: []fleet.Report{one}})
		}
		report("", "1", fleet.Healthy)
		if ids, err := b.Store.MovedSources(t.Context(), "", 100); err != nil || len(ids) != 1 || ids[0] != web.SourceID {
			t.Fatalf("sources to follow: %q, %v", ids, err)
		}
		b.Tell(web.SourceID)
		wants("it is healthy", 1, "")
		report("1", "2", fleet.Degraded)
		b.Move(web, 2)
		wants("a commit while it is degraded", 1, fleet.ReasonDependency)
		report("2", "3", fleet.Healthy)
		b.Tell(web.SourceID)
		wants("it recovered", 2, "")
	})
}
