package fleet_test

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
)

// What a backup of a cluster brings back has no row in the hub: the cluster itself shows it,
// with the words of its agent, and one event records it, until it is gone.
func TestServicesThatTheHubDoesNotKnowAreShownOnTheirCluster(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		c, other := env.AddCluster("hosts"), env.AddCluster("edge-1")
		web := env.AddService("hosts", "web")
		env.Move(web, 1)
		web = env.Get(web)
		of := func(id, hash, message string) fleet.Report {
			return fleet.Report{ServiceID: id, NewHash: hash, Status: fleet.Status{Sync: fleet.Held, Reason: fleet.ReasonOrphaned, Health: fleet.Healthy, Message: message}}
		}
		known := of(web.ID, "h1", "web")
		env.Report(fleet.ReportBatch{ClusterID: c.ID, Reports: []fleet.Report{known, of("svc_gone", "h2", "the machines of its cluster\nshop-1"), {ServiceID: "svc_left", NewHash: "h3", Status: fleet.Status{Sync: fleet.Synced}}}})
		shown := func(id string) string {
			t.Helper()
			c, err := env.ClusterNamed(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			_, text, err := env.OrphansOf(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
		if got, want := shown(c.Name), "it has services that the hub does not know (axle clusters orphans list hosts); svc_gone: the machines of its cluster shop-1"; got != want {
			t.Errorf("it shows %q, want %q", got, want)
		}
		if got := shown(other.Name); got != "" {
			t.Errorf("another cluster shows %q", got)
		}
		env.Report(fleet.ReportBatch{ClusterID: c.ID, Reports: []fleet.Report{of("svc_gone", "h4", "other words")}})
		var events []string
		for _, e := range env.Events("") {
			if e.Kind == "cluster.orphan" {
				events = append(events, e.Object+" by "+e.By+": "+e.Message)
			}
		}
		if got, want := strings.Join(events, "; "), "cluster hosts by agent hosts: svc_gone: the machines of its cluster shop-1"; got != want {
			t.Errorf("the events are %q, want %q", got, want)
		}
		many := fleet.ReportBatch{ClusterID: c.ID}
		for _, id := range []string{"svc_a", "svc_b", "svc_c", "svc_d", "svc_e"} {
			many.Reports = append(many.Reports, of(id, id, id))
		}
		env.Report(many)
		if got := shown(c.Name); !strings.HasSuffix(got, "svc_e: svc_e; there are more") || strings.Contains(got, "svc_gone") {
			t.Errorf("of six it shows %q", got)
		}
		env.Report(fleet.ReportBatch{ClusterID: c.ID, Whole: true, Reports: []fleet.Report{known}})
		if got := shown(c.Name); got != "" {
			t.Errorf("once they are gone it shows %q", got)
		}
	})
}

// Such a service leaves by a tombstone of its own, under a name that no other service has, and
// only from the cluster that reported it; what a list has is no orphan.
func TestServicesThatTheHubDoesNotKnowAreSettled(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env, ctx := fleettest.New(t, d), t.Context()
		c, other := env.AddCluster("hosts"), env.AddCluster("edge-1")
		web := env.AddService("hosts", "web")
		orphan := func(id string) fleet.Report {
			return fleet.Report{ServiceID: id, NewHash: id, Status: fleet.Status{Sync: fleet.Held, Reason: fleet.ReasonOrphaned, Message: id}}
		}
		env.Report(fleet.ReportBatch{ClusterID: c.ID, Reports: []fleet.Report{orphan("svc-gone"), orphan("svc-kept"), orphan(web.ID), orphan("svc-\n"), {ServiceID: "svc-fine", NewHash: "h", Status: fleet.Status{Sync: fleet.Synced}}}})
		for _, one := range [][2]string{{"edge-1", "svc-gone"}, {"hosts", "svc-none"}, {"hosts", web.ID}, {"hosts", "svc-fine"}, {"hosts", "svc-\n"}, {"nowhere", "svc-gone"}} {
			if _, err := env.SettleOrphan(ctx, "ann", one[0], one[1], false); !errcode.Is(err, errcode.NotFound) {
				t.Errorf("%q of %s: %v", one[1], one[0], err)
			}
		}
		row := func(s fleet.Service) error {
			_, err := env.Service(ctx, s.Ref())
			return err
		}
		settle := func(id string, keep bool, want fleet.Deletion) fleet.Service {
			t.Helper()
			s, err := env.SettleOrphan(ctx, "ann", "hosts", id, keep)
			if err != nil || s.ID != id || s.Deleting != want || s.TombstoneID == "" {
				t.Fatalf("%s: %+v, %v", id, s, err)
			}
			return s
		}
		gone := settle("svc-gone", false, fleet.Drain)
		if again := settle("svc-gone", false, fleet.Drain); again.TombstoneID != gone.TombstoneID || again.Name != "orphan-gone" {
			t.Errorf("a second call makes %+v", again)
		}
		settle("svc-kept", true, fleet.Detach)
		settle("svc-kept", false, fleet.Detach) // its marks may be gone already
		settle("svc-gone", true, fleet.Detach)  // keeps what is left
		known := func() string {
			t.Helper()
			all, err := env.Orphans(ctx, identity.Reach{Everywhere: true}, 10)
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, o := range all {
				ids = append(ids, o.Cluster+" "+o.ServiceID)
			}
			return strings.Join(ids, ", ")
		}
		if got := known(); got != "hosts svc-\n" {
			t.Errorf("while they leave, %q are not known", got)
		}
		env.Report(fleet.ReportBatch{ClusterID: other.ID, Drained: []string{gone.TombstoneID}})
		if err := row(gone); err != nil {
			t.Errorf("another cluster's agent ended it: %v", err)
		}
		env.Report(fleet.ReportBatch{ClusterID: c.ID, Drained: []string{gone.TombstoneID}})
		if err := row(gone); !errcode.Is(err, errcode.NotFound) {
			t.Errorf("its row is there: %v", err)
		}
		env.Report(fleet.ReportBatch{ClusterID: c.ID, Reports: []fleet.Report{orphan("svc-gone")}})
		if got := known(); got != "hosts svc-\n, hosts svc-gone" {
			t.Errorf("once it came back, %q are not known", got)
		}
		for name, reach := range map[string]identity.Reach{"nothing": {}, "another cluster": {Clusters: []string{other.ID}}, "a service of it": {Services: []string{web.ID}}} {
			if all, err := env.Orphans(ctx, reach, 10); err != nil || len(all) > 0 {
				t.Errorf("with a reach of %s: %v, %v", name, all, err)
			}
		}
	})
}
