package fleet_test

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/store/storetest"
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
			text, err := env.Orphans(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
		if got, want := shown(c.ID), "it has services that the hub does not know; svc_gone: the machines of its cluster shop-1"; got != want {
			t.Errorf("it shows %q, want %q", got, want)
		}
		if got := shown(other.ID); got != "" {
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
		if got := shown(c.ID); !strings.HasSuffix(got, "svc_e: svc_e; there are more") || strings.Contains(got, "svc_gone") {
			t.Errorf("of six it shows %q", got)
		}
		env.Report(fleet.ReportBatch{ClusterID: c.ID, Whole: true, Reports: []fleet.Report{known}})
		if got := shown(c.ID); got != "" {
			t.Errorf("once they are gone it shows %q", got)
		}
	})
}
