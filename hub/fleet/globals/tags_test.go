package globals_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
)

// tag gives a cluster its tags as somebody who may only write the cluster.
func (b *bed) tag(cluster string, tags map[string]string) error {
	b.t.Helper()
	_, err := b.UpdateCluster(b.t.Context(), "mallory", cluster, fleet.ClusterChange{Tags: &tags})
	b.spread()
	return err
}

// What is delivered to clusters of all projects goes by the tags that an administrator
// set; who writes one cluster does not get it by a tag, whenever and however they set it.
func TestTagsOfWritersDoNotCountForTheWholeFleet(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d)
		if _, err := b.CreateProject(t.Context(), "ann", fleet.NewProject{Name: "shop"}); err != nil {
			t.Fatal(err)
		}
		dev, tier := map[string]string{"tier": "dev"}, func(more string) map[string]string { return map[string]string{"tier": "dev", "by": more} }
		b.apply(request())
		own := request()
		own.Name, own.Project = "shops", "shop"
		b.apply(own)
		c, err := b.CreateCluster(t.Context(), "mallory", fleet.NewCluster{Name: "shop-1", Project: "shop", Tags: dev})
		if err != nil {
			t.Fatal(err)
		}
		b.EnrollCluster(c.ID)
		b.spread()
		b.wantNone("shop-1")
		g, err := b.Globals.Get(t.Context(), "web")
		if err != nil {
			t.Fatal(err)
		}
		uncounted := func() string {
			t.Helper()
			all, err := b.Uncounted(t.Context(), g)
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprint(all)
		}
		if all := uncounted(); all != "[{shop-1 [tier]}]" {
			t.Errorf("not selected for their tags: %s", all)
		}
		if _, err := b.Service(t.Context(), fleet.Ref{Cluster: "shop-1", Name: "shops"}); err != nil {
			t.Errorf("the global service of its project goes by all tags: %v", err)
		}
		// An administrator who sends back a form that shows the tag did not set it.
		form := managed.WithCaller(t.Context(), managed.Caller{By: managed.Manager{Tool: managed.Console}})
		if _, err := b.UpdateCluster(form, "ann", "shop-1", fleet.ClusterChange{Tags: new(tier("ann")), FleetWide: true}); err != nil {
			t.Fatal(err)
		}
		b.spread()
		b.wantNone("shop-1")
		b.retag("shop-1", tier("ann"))
		b.target("shop-1")
		if all := uncounted(); all != "[]" {
			t.Errorf("not selected for their tags: %s", all)
		}
		for name, tags := range map[string]map[string]string{"changed": {"tier": "prod", "by": "ann"}, "removed": nil} {
			if err := b.tag("shop-1", tags); !errcode.Is(err, errcode.Forbidden) || !strings.Contains(err.Error(), "administrator") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := b.tag("shop-1", map[string]string{"tier": "dev", "by": "ann", "color": "red"}); err != nil {
			t.Errorf("a tag of the writer's own: %v", err)
		}
		b.target("shop-1")
		// Deleted and made again, it has nothing of before.
		if err := b.DeleteCluster(t.Context(), "mallory", "shop-1", true); err != nil {
			t.Fatal(err)
		}
		if _, err := b.CreateCluster(t.Context(), "mallory", fleet.NewCluster{Name: "shop-1", Project: "shop", Tags: dev}); err != nil {
			t.Fatal(err)
		}
		b.spread()
		b.wantNone("shop-1")
	})
}

// An agent's tags count as the token does with which it registers.
func TestTagsOfATokenCountAsItsMakers(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d)
		b.apply(request())
		for name, administrator := range map[string]bool{"by-ann": true, "by-mallory": false} {
			err := b.Store.Write(t.Context(), func(ctx context.Context) error {
				e := fleettest.Enrollment("")
				e.Name, e.ClusterUID, e.Tags, e.FleetWide = name, "uid-"+name, map[string]string{"tier": "dev"}, administrator
				_, err := b.Enroll(ctx, e)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		b.spread()
		b.target("by-ann")
		b.wantNone("by-mallory")
	})
}

// Liquid of a global service of all projects sees only the tags that count.
func TestTemplatesSeeTheTagsThatCount(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d)
		b.AddCluster("edge-1")
		b.Upstream.Commit(fleettest.SourceID("repo_main", "main", "web-red"), 1)
		if err := b.tag("edge-1", map[string]string{"tier": "dev", "color": "red"}); err != nil {
			t.Fatal(err)
		}
		r := request()
		r.Spec.Git.Folder = "web-{{ cluster.tags.color }}"
		b.apply(r)
		b.wantNone("edge-1")
		b.retag("edge-1", map[string]string{"tier": "dev", "color": "red"})
		if web := b.target("edge-1"); web.Spec.Git.Folder != "web-red" {
			t.Errorf("the folder is %q", web.Spec.Git.Folder)
		}
	})
}

// The tags of before who set them was recorded count until they change.
func TestTagsOfBeforeCountUntilTheyChange(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d)
		for _, name := range []string{"edge-1", "edge-2", "edge-3"} {
			b.AddCluster(name)
		}
		b.apply(request())
		if err := b.Store.Close(); err != nil {
			t.Fatal(err)
		}
		d.Exec(t, "ALTER TABLE clusters DROP COLUMN admin_tags", "ALTER TABLE clusters DROP COLUMN former_tags",
			// Later migrations come again after it.
			"DROP INDEX repositories_by_normal_url", "DROP INDEX repositories_without_normal_url", "ALTER TABLE repositories DROP COLUMN written_url",
			"ALTER TABLE repositories DROP COLUMN normal_url", "ALTER TABLE repositories DROP COLUMN normal_of", "DROP TABLE objects", "DROP TABLE object_references", "DROP TABLE object_secrets",
			"DROP TABLE application_clients", "DROP TABLE application_secrets", "DROP TABLE oidc_keys", "DROP TABLE oidc_grants", "DROP TABLE oidc_secrets", "DROP TABLE oidc_consents", "DROP TABLE oidc_logouts", "DROP TABLE oidc_devices",
			"ALTER TABLE rollout_targets DROP COLUMN excuse", "ALTER TABLE rollout_targets DROP COLUMN relapses",
			"DROP INDEX clusters_made", "DROP INDEX clusters_destroying", "ALTER TABLE clusters DROP COLUMN destroying", "ALTER TABLE clusters DROP COLUMN made_state", "ALTER TABLE clusters DROP COLUMN cleanup", "ALTER TABLE clusters DROP COLUMN replacing", "ALTER TABLE services DROP COLUMN machine_request", "ALTER TABLE clusters DROP COLUMN origin", "ALTER TABLE clusters DROP COLUMN management_id", "DROP INDEX users_by_address", "DROP INDEX statuses_orphaned", "DROP INDEX packages_by_use", "DELETE FROM goose_db_version WHERE version_id >= 77")
		b = newBed(t, d)
		// As after a new commit or an edit, all is compared again.
		r := request()
		r.Spec.Configuration = map[string]string{"color": "blue"}
		b.apply(r)
		if v := b.target("edge-1"); v.ManagedBy.Tool != managed.Hub || v.Spec.Configuration["color"] != "blue" {
			t.Fatalf("after the upgrade: %+v", v.Service)
		}
		at := func(name string) fleet.Cluster {
			t.Helper()
			c, err := b.ClusterNamed(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		if c := at("edge-1"); len(c.TagsAtRisk()) != 1 || len(c.UncountedTags()) != 0 {
			t.Errorf("at risk are %q, uncounted %q", c.TagsAtRisk(), c.UncountedTags())
		}
		// A tag beside it changes nothing; one that was changed and put back is the writer's.
		for _, tags := range []map[string]string{{"tier": "dev", "color": "red"}, {"tier": "dev"}} {
			if err := b.tag("edge-1", tags); err != nil {
				t.Fatal(err)
			}
		}
		for _, tags := range []map[string]string{{"tier": "prod"}, {"tier": "dev"}} {
			if err := b.tag("edge-2", tags); err != nil {
				t.Fatal(err)
			}
		}
		if v := b.target("edge-1"); v.ManagedBy.Tool != managed.Hub {
			t.Errorf("a tag beside it released the target: %+v", v.Service)
		}
		if v := b.target("edge-2"); v.ManagedBy.Tool == managed.Hub {
			t.Error("the tag counts although its writer set it again")
		}
		// An administrator who sets it stands by it.
		b.retag("edge-3", map[string]string{"tier": "dev"})
		if c := at("edge-3"); len(c.TagsAtRisk()) != 0 || c.CountedTags()["tier"] != "dev" {
			t.Errorf("at risk are %q, counted %v", c.TagsAtRisk(), c.CountedTags())
		}
		if v := b.target("edge-3"); v.ManagedBy.Tool != managed.Hub {
			t.Errorf("it was released: %+v", v.Service)
		}
	})
}

// A cluster that is left out by its handle stays so when its writer gives it another one.
func TestIgnoredClustersStayIgnoredUnderAnotherHandle(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d)
		b.AddCluster("edge-1")
		b.AddCluster("edge-2")
		r := request()
		r.Selectors.IgnoreClusters = []string{"edge-1", "later"}
		b.apply(r)
		for from, to := range map[string]string{"edge-1": "fresh", "edge-2": "later"} {
			if _, err := b.UpdateCluster(t.Context(), "mallory", from, fleet.ClusterChange{Handle: &to}); err != nil {
				t.Fatal(err)
			}
		}
		b.spread()
		b.wantNone("edge-1")
		if v := b.target("edge-2"); v.ManagedBy.Tool == managed.Hub {
			t.Error("a handle that is ignored is delivered to")
		}
		if g, err := b.Globals.Get(t.Context(), "web"); err != nil || len(g.Selectors.IgnoreClusters) != 2 {
			t.Errorf("%+v, %v", g.Selectors, err)
		}
		// Applied again, it binds what has the handle now, and is the same from then on.
		b.apply(r)
		if _, outcome, err := b.Apply(t.Context(), "ann", r); err != nil || outcome != fleet.Unchanged {
			t.Errorf("%s, %v", outcome, err)
		}
	})
}
