package globals_test

import (
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/fanout"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/fleet/globals"
	"github.com/axle-cd/axle/hub/store/storetest"
)

// A template of before bindings were kept is bound to what its first target with content
// follows, and stays so on the clusters that come later, with Liquid or without, in a
// rollout or not.
func TestATemplateOfBeforeIsBoundToWhatItsTargetsFollow(t *testing.T) {
	for name, change := range map[string]func(*globals.Request){
		"plain":  func(*globals.Request) {},
		"Liquid": func(r *globals.Request) { r.Spec.Git.Folder = "{{ cluster.handle }}" },
	} {
		t.Run(name, func(t *testing.T) {
			storetest.OnBoth(t, func(t *testing.T, d storetest.Database) { boundOfBefore(newBed(t, d), change) })
		})
	}
}

func boundOfBefore(b *bed, change func(*globals.Request)) {
	t, tags := b.t, map[string]string{"tier": "dev"}
	b.AddCluster("edge-1")
	b.retag("edge-1", tags)
	r := request()
	change(&r)
	b.apply(r)
	// As an older hub left it: found elsewhere once, and no binding.
	for _, statement := range []string{"UPDATE specs SET repositories = ''", "UPDATE services SET repository_id = 'repo_elsewhere'"} {
		if _, err := b.d.SQL(t).ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	b.AddCluster("edge-2")
	b.retag("edge-2", tags)
	if is := b.target("edge-2").RepositoryID; is != "repo_elsewhere" {
		t.Errorf("a cluster that comes later follows %s, want what the first one follows", is)
	}
	g, err := b.Globals.Get(t.Context(), r.Name)
	if err != nil || len(g.Repositories) != 1 || g.Repositories[0] != "repo_elsewhere" {
		t.Errorf("the template is bound to %v, %v", g.Repositories, err)
	}
	// The same again changes nothing; another reference is bound anew.
	if _, outcome, err := b.Apply(t.Context(), "ann", r); outcome != fleet.Unchanged || err != nil {
		t.Errorf("the same again: %s, %v", outcome, err)
	}
	r.Spec.Repository = "other"
	b.apply(r)
	for _, cluster := range []string{"edge-1", "edge-2"} {
		if is := b.target(cluster).RepositoryID; is != "repo_other" {
			t.Errorf("%s follows %s, want what the changed template names", cluster, is)
		}
	}
}

// A rollout keeps the bindings of the former template where it was not yet.
func TestARolloutKeepsTheFormerBindings(t *testing.T) {
	b := newBed(t, storetest.SQLite(t))
	b.Upstream.Commit(fleettest.SourceID("repo_other", "main", "web"), 2)
	b.AddCluster("edge-1")
	b.retag("edge-1", map[string]string{"tier": "dev"})
	r := request()
	r.Plan = &fanout.Plan{Waves: []string{"1", "100%"}, Soak: time.Minute}
	b.apply(r)
	r.Spec.Repository = "other"
	b.apply(r)
	b.AddCluster("edge-2")
	b.retag("edge-2", map[string]string{"tier": "dev"})
	for _, cluster := range []string{"edge-1", "edge-2"} {
		if is := b.target(cluster).RepositoryID; is != "repo_main" {
			t.Errorf("%s follows %s before the rollout reached it, want repo_main", cluster, is)
		}
	}
}
