package store_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/test/pg"
)

// crowd makes n services like one, all with its source and content, on its
// cluster.
func crowd(t *testing.T, d storetest.Database, v fleet.ServiceView, n int) {
	t.Helper()
	d.Copies(t, "services", "id = '"+v.ID+"'", n, map[string]string{"id": storetest.Numbered("svc-"), "name": storetest.Numbered(v.Name + "-")})
	d.Copies(t, "revisions", "service_id = '"+v.ID+"'", n, map[string]string{"service_id": storetest.Numbered("svc-")})
}

// The cost of a report depends on its size, however many services its cluster
// has: a dozen rows, and at most 3 ms.
func TestReportOfOneStatusReadsNoOthers(t *testing.T) {
	const services, limit, atMost = 5000, 40, slower * 3 * time.Millisecond
	d := storetest.Postgres(t)
	y := newYard(t, d)
	cluster := y.cluster("edge-1")
	y.upstream.commit(sourceIDOf("repo_main", "main", "web"), 1)
	web := y.service("edge-1", "web")
	y.report(fleet.ReportBatch{ClusterID: cluster.ID, Reports: []fleet.Report{report(web, "", strings.Repeat("a", 64))}})
	crowd(t, d, web, services)
	d.Copies(t, "statuses", "service_id = '"+web.ID+"'", services, map[string]string{"service_id": storetest.Numbered("svc-")})
	d.Analyse(t)
	// The first report after a start may read everything that is stored.
	y.report(fleet.ReportBatch{ClusterID: cluster.ID, Reports: []fleet.Report{report(web, "", strings.Repeat("b", 64))}})
	read := y.readsOf(d, func() {
		y.report(fleet.ReportBatch{ClusterID: cluster.ID, Reports: []fleet.Report{report(web, "", strings.Repeat("c", 64))}})
	})
	if read.Rows() > limit {
		t.Errorf("a report of one status in a cluster of %d services read %d rows, want at most %d: %v", services, read.Rows(), limit, read)
	}
	// Without the wait for reports of others that share the commit; the quickest
	// of some, since others use the machine too.
	quickest := time.Hour
	for i := range 50 {
		batch := fleet.ReportBatch{ClusterID: cluster.ID, Reports: []fleet.Report{report(web, "", fmt.Sprint("h", i))}}
		began := time.Now()
		err := y.store.Write(t.Context(), func(ctx context.Context) error {
			_, err := y.StoreReports(ctx, batch)
			return err
		})
		if quickest = min(quickest, time.Since(began)); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("a report of one status beside %d: %v", services, quickest)
	if quickest > atMost {
		t.Errorf("a report of one status in a cluster of %d services took %v, want at most %v", services, quickest, atMost)
	}
}

// readsOf returns what the database read while fn ran. The store's connections
// are opened again before and after, because they report their reads when they
// end.
func (y *yard) readsOf(d storetest.Database, fn func()) pg.Reads {
	y.t.Helper()
	y.store.Disconnect()
	counted := pg.CountReads(y.t, d.Config.DatabaseURL, "axle-hub")
	fn()
	y.store.Disconnect()
	return counted()
}

// A commit that moves many services needs few statements, so that it is done
// within 5 s when the database is 1 ms away each way.
func TestCommitMovesTenThousandServicesInFewRoundTrips(t *testing.T) {
	const services, limit, atMost = 10_000, 400, slower * 5 * time.Second
	d := storetest.Postgres(t)
	near := newYard(t, d)
	near.cluster("edge-1")
	near.upstream.commit(sourceIDOf("repo_main", "main", "web"), 1)
	web := near.service("edge-1", "web")
	crowd(t, d, web, services-1)
	d.Analyse(t)
	away := pg.Away(t, d.Config.DatabaseURL, 2*time.Millisecond)
	d.Config.DatabaseURL = away.URL
	y := &yard{t: t, store: d.Open(t), clock: near.clock, upstream: near.upstream, sealer: near.sealer}
	y.Fleet = y.newFleet()
	y.get(web) // connected
	rows, trips, began := feedRows(t, d), away.Trips(), time.Now()
	y.move(web, 2)
	took := time.Since(began)
	t.Logf("%d services in %v, %d round trips", services, took, away.Trips()-trips)
	if took > atMost {
		t.Errorf("%d services were moved in %v, want at most %v", services, took, atMost)
	}
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
