package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/test/pg"
)

// The cost of a report depends on its size, however many services its cluster
// has: a dozen rows.
func TestReportOfOneStatusReadsNoOthers(t *testing.T) {
	const services, limit = 5000, 40
	d := storetest.Postgres(t)
	env := fleettest.New(t, d)
	cluster := env.AddCluster("edge-1")
	env.Upstream.Commit(fleettest.SourceID("repo_main", "main", "web"), 1)
	web := env.AddService("edge-1", "web")
	env.Report(fleet.ReportBatch{ClusterID: cluster.ID, Reports: []fleet.Report{fleettest.ReportOf(web, "", strings.Repeat("a", 64))}})
	env.Crowd(web, services)
	d.Copies(t, "statuses", "service_id = '"+web.ID+"'", services, map[string]string{"service_id": storetest.Numbered("svc-")})
	d.Analyse(t)
	// The first report after a start may read everything that is stored.
	env.Report(fleet.ReportBatch{ClusterID: cluster.ID, Reports: []fleet.Report{fleettest.ReportOf(web, "", strings.Repeat("b", 64))}})
	read := readsOf(env, d, func() {
		env.Report(fleet.ReportBatch{ClusterID: cluster.ID, Reports: []fleet.Report{fleettest.ReportOf(web, "", strings.Repeat("c", 64))}})
	})
	if read.Rows() > limit {
		t.Errorf("a report of one status in a cluster of %d services read %d rows, want at most %d: %v", services, read.Rows(), limit, read)
	}
}

// readsOf returns what the database read while fn ran. The store's connections
// are opened again before and after, because they report their reads when they
// end.
func readsOf(env *fleettest.Fleet, d storetest.Database, fn func()) pg.Reads {
	env.T.Helper()
	env.Store.Disconnect()
	counted := pg.CountReads(env.T, d.Config.DatabaseURL, "axle-hub")
	fn()
	env.Store.Disconnect()
	return counted()
}

// A commit that moves many services needs few statements, so that a database far away
// costs it little.
func TestCommitMovesTenThousandServicesInFewRoundTrips(t *testing.T) {
	const services, limit = 10_000, 400
	d := storetest.Postgres(t)
	near := fleettest.New(t, d)
	near.AddCluster("edge-1")
	near.Upstream.Commit(fleettest.SourceID("repo_main", "main", "web"), 1)
	web := near.AddService("edge-1", "web")
	near.Crowd(web, services-1)
	d.Analyse(t)
	away := pg.Away(t, d.Config.DatabaseURL, 2*time.Millisecond)
	d.Config.DatabaseURL = away.URL
	env := near.Replica(d)
	env.Get(web) // connected
	rows, trips, began := feedRows(t, d), away.Trips(), time.Now()
	env.Move(web, 2)
	t.Logf("%d services in %v, %d round trips", services, time.Since(began), away.Trips()-trips)
	if n := away.Trips() - trips; n > limit {
		t.Errorf("%d services were moved in %d round trips, want at most %d", services, n, limit)
	}
	if n := feedRows(t, d) - rows; n > 20 {
		t.Errorf("%d services were moved by %d feed rows, want at most 20", services, n)
	}
	var moved int
	if err := d.SQL(t).QueryRowContext(t.Context(), "SELECT count(*) FROM revisions WHERE number = 2").Scan(&moved); err != nil || moved != services {
		t.Errorf("%d services have a second revision, want %d, %v", moved, services, err)
	}
}

func feedRows(t *testing.T, d storetest.Database) (n int) {
	t.Helper()
	if err := d.SQL(t).QueryRowContext(t.Context(), "SELECT max(sequence) FROM outbox").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
