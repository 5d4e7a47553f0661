package notify_test

import (
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/notify"
	"github.com/axle-cd/axle/hub/store/storetest"
)

// Whoever wants to know that a cluster is deleted gets both ends of its destruction: its
// project that it begins, and by whom, and the hub's own router that the machines are gone.
func TestADestroyedClusterIsNotified(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b, ctx := newBed(t, d), t.Context()
		_, err := b.CreateProject(ctx, "ann", fleet.NewProject{Name: "shop"})
		b.must(err)
		hosts, err := b.CreateCluster(ctx, "ann", fleet.NewCluster{Name: "hosts"}) // without an agent
		b.must(err)
		made, err := b.MakeCluster(ctx, "ann", fleet.MadeCluster{
			NewCluster: fleet.NewCluster{Name: "shop-1", Project: "shop"}, ManagementID: hosts.ID,
			Origin:  fleet.Origin{TemplateID: "ctp_a", Template: "eks", Commit: "c", Version: "v1.37.0", Variables: "{}"},
			Builtin: fleet.Builtin{Name: "cluster-shop-1", Namespace: "cluster-shop-1", Version: "c", Digest: "axle1:" + strings.Repeat("a", 64), Size: 9, Contained: true},
		})
		b.must(err)
		b.sink(notify.SinkRequest{Name: "hub"})
		b.route(notify.Router{Name: "hub", Events: []string{"cluster.delete"}, Sinks: []string{"hub"}})
		b.sink(notify.SinkRequest{Name: "shop", Project: "shop"})
		b.route(notify.Router{Name: "shop", Project: "shop", Events: []string{"cluster.delete"}, Sinks: []string{"shop"}})

		_, err = b.DestroyCluster(ctx, "user ann", "shop-1", false)
		b.must(err)
		b.turn(gathered)
		got := b.take()
		if len(got) != 2 {
			t.Fatalf("both routers are to have it: %+v", got)
		}
		for _, one := range got {
			if o := one.body.Objects[0]; one.body.Title != "cluster shop-1 began to be destroyed" || o.Event != "cluster.destroying" || o.By != "user ann" || o.Command != "axle clusters get shop-1" {
				t.Errorf("%q: %+v", one.body.Title, o)
			}
		}

		b.must(b.ForgetDestroyed(ctx, made.ID))
		b.turn(10 * time.Minute) // more of a topic is gathered for longer
		if o := b.wants("cluster shop-1 destroyed").body.Objects[0]; o.Event != "cluster.destroyed" || o.Command != "" {
			t.Errorf("%+v", o)
		}
		// Both are in the log that axle audit shows.
		at := map[string]string{}
		for _, e := range b.Events("") {
			at[e.Kind] = e.Object + " by " + e.By
		}
		if at["cluster.destroying"] != "cluster shop-1 by user ann" || at["cluster.destroyed"] != "cluster shop-1 by hub" {
			t.Errorf("the log has %v", at)
		}
	})
}

// Whoever wants to know is told once of each service that a backup of a cluster brought back.
func TestAServiceThatABackupBringsBackIsNotified(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d)
		hosts := b.AddCluster("hosts")
		b.sink(notify.SinkRequest{Name: "hub"})
		b.route(notify.Router{Name: "hub", Events: []string{"cluster.orphan"}, Sinks: []string{"hub"}})
		for _, words := range []string{"its cluster shop-1", "other words"} {
			b.Report(fleet.ReportBatch{ClusterID: hosts.ID, Reports: []fleet.Report{{ServiceID: "svc-gone", NewHash: words, Status: fleet.Status{Sync: fleet.Held, Reason: fleet.ReasonOrphaned, Message: words}}}})
		}
		b.turn(gathered)
		o := b.wants("cluster hosts has a service that the hub does not know").body.Objects[0]
		if o.Event != "cluster.orphan" || o.Command != "axle clusters orphans list hosts" || o.Message != "svc-gone: its cluster shop-1" {
			t.Errorf("%+v", o)
		}
	})
}
