package store_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/test/pg"
)

// copies makes n more rows like the one of a table that matches where, the
// columns of set made of the number n.
func (p place) copies(t *testing.T, table, where string, n int, set map[string]string) {
	t.Helper()
	db := p.raw(t)
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), "SELECT * FROM "+table+" LIMIT 0")
	if err != nil {
		t.Fatal(err)
	}
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
	values := make([]string, len(columns))
	for i, column := range columns {
		values[i] = "t." + column
		if v, ok := set[column]; ok {
			values[i] = v
		}
	}
	_, err = db.ExecContext(t.Context(), fmt.Sprintf(`WITH RECURSIVE g(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM g WHERE n < %d)
		INSERT INTO %s (%s) SELECT %s FROM g, %s t WHERE %s`, n, table, strings.Join(columns, ", "), strings.Join(values, ", "), table, where))
	if err != nil {
		t.Fatal(err)
	}
}

// numbered is an expression for a name that ends in the number of a copy.
func numbered(prefix string) string {
	return "'" + prefix + "' || substr(CAST(100000 + n AS TEXT), 2)"
}

// crowd makes n services like one, all with its source and content, on its
// cluster.
func (p place) crowd(t *testing.T, v fleet.ServiceView, n int) {
	t.Helper()
	p.copies(t, "services", "id = '"+v.ID+"'", n, map[string]string{"id": numbered("svc-"), "name": numbered(v.Name + "-")})
	p.copies(t, "revisions", "service_id = '"+v.ID+"'", n, map[string]string{"service_id": numbered("svc-")})
}

// analysed updates Postgres's statistics, as autovacuum does sooner or later.
func (p place) analysed(t *testing.T) {
	t.Helper()
	db := p.raw(t)
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "ANALYZE"); err != nil {
		t.Fatal(err)
	}
}

// The cost of a report depends on its size, however many services its cluster
// has: a dozen rows, and at most 3 ms.
func TestReportOfOneStatusReadsNoOthers(t *testing.T) {
	const services, limit, atMost = 5000, 40, slower * 3 * time.Millisecond
	p := databases["postgres"](t)
	y := newYard(t, p)
	cluster := y.cluster("edge-1")
	y.upstream.commit(sourceIDOf("repo_main", "main", "web"), 1)
	web := y.service("edge-1", "web")
	y.report(fleet.ReportBatch{ClusterID: cluster.ID, Reports: []fleet.Report{report(web, "", strings.Repeat("a", 64))}})
	p.crowd(t, web, services)
	p.copies(t, "statuses", "service_id = '"+web.ID+"'", services, map[string]string{"service_id": numbered("svc-")})
	p.analysed(t)
	// The first report after a start may read everything that is stored.
	y.report(fleet.ReportBatch{ClusterID: cluster.ID, Reports: []fleet.Report{report(web, "", strings.Repeat("b", 64))}})
	read := y.readsOf(p, func() {
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
func (y *yard) readsOf(p place, fn func()) pg.Reads {
	y.t.Helper()
	y.store.Disconnect()
	counted := pg.CountReads(y.t, p.config.DatabaseURL, "axle-hub")
	fn()
	y.store.Disconnect()
	return counted()
}

// A commit that moves many services needs few statements, so that it is done
// within 5 s when the database is 1 ms away each way.
func TestCommitMovesTenThousandServicesInFewRoundTrips(t *testing.T) {
	const services, limit, atMost = 10_000, 400, slower * 5 * time.Second
	p := databases["postgres"](t)
	near := newYard(t, p)
	near.cluster("edge-1")
	near.upstream.commit(sourceIDOf("repo_main", "main", "web"), 1)
	web := near.service("edge-1", "web")
	p.crowd(t, web, services-1)
	p.analysed(t)
	away := pg.Away(t, p.config.DatabaseURL, 2*time.Millisecond)
	p.config.DatabaseURL = away.URL
	y := &yard{t: t, store: p.open(t), clock: near.clock, upstream: near.upstream, sealer: near.sealer}
	y.Fleet = y.newFleet()
	y.get(web) // connected
	rows, trips, began := feedRows(t, p), away.Trips(), time.Now()
	y.move(web, 2)
	took := time.Since(began)
	t.Logf("%d services in %v, %d round trips", services, took, away.Trips()-trips)
	if took > atMost {
		t.Errorf("%d services were moved in %v, want at most %v", services, took, atMost)
	}
	if n := away.Trips() - trips; n > limit {
		t.Errorf("%d services were moved in %d round trips, want at most %d", services, n, limit)
	}
	if n := feedRows(t, p) - rows; n > 20 {
		t.Errorf("%d services were moved by %d feed rows, want at most 20", services, n)
	}
	var moved int
	if err := p.raw(t).QueryRowContext(t.Context(), "SELECT count(*) FROM revisions WHERE number = 2").Scan(&moved); err != nil || moved != services {
		t.Errorf("%d services have a second revision, want %d, %v", moved, services, err)
	}
}

func feedRows(t *testing.T, p place) (n int) {
	t.Helper()
	if err := p.raw(t).QueryRowContext(t.Context(), "SELECT max(sequence) FROM outbox").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
