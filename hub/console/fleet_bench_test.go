package console_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
	_ "github.com/jackc/pgx/v5/stdlib" // registers the driver "pgx"
	_ "modernc.org/sqlite"             // registers the driver "sqlite"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/hubtest"
)

const (
	benchClusters = 10_000
	benchServices = 100_000
	benchCalls    = 60
)

// fill writes a fleet straight into the tables of a hub that does not run: by its API
// that takes an hour, and the index reads the same rows.
var fill = []string{
	"INSERT INTO projects (id, name, description, created_at) SELECT 'prj_' || i, 'team-' || i, '', 1 FROM (" + numbers(0, 20) + ") n",
	`INSERT INTO repositories (id, name, project_id, kind, url, generation, created_at, updated_at, health)
		SELECT 'rep_' || i, 'config-' || i, 'prj_' || i, 'git', 'https://git.example.com/config-' || i, 1, 1, 1, 'PULLABLE' FROM (` + numbers(0, 20) + ") n",
	`INSERT INTO clusters (id, name, handle, project_id, tags, metadata, distro, kubernetes_version, agent_version, nodes, cluster_uid, registered_at, pending, message, poll_interval, pinged_at, created_at, updated_at)
		SELECT 'cls_0123456789abcdef01_' || i, 'edge-' || (10000 + i), 'edge-' || (10000 + i), 'prj_' || (i % 20), '{"site":"site-' || (i % 300) || '","tier":"' || CASE WHEN i % 4 = 0 THEN 'staging' ELSE 'prod' END || '"}',
		'{}', 'k3s', 'v1.3' || (i % 5) || '.1', 'v0.' || (i % 3) || '.0', 3, 'uid-' || i, 1, 0, '', 120000000, 1, 1, 1 FROM (` + numbers(0, benchClusters) + ") n",
	`INSERT INTO contents (id, repository_id, source_revision, digest, entry, size, message, author, committed_at, parts, created_at)
		SELECT 'con_' || i, 'rep_' || (i % 20), '0123456789abcdef0123456789abcdef0123' || (1000 + i), 'axle1:' || i, '', 1000, 'fix(web): say what is wrong', 'kim', 1, '', 1 FROM (` + numbers(0, 40) + ") n",
	`INSERT INTO specs (owner_id, version, spec, secrets) SELECT 'svc_0123456789abcdef01_' || i, 1, '{"repository":"config-' || (i % 20) || '","git":{"ref":"main","folder":"apps/app-' || (i % 40) || '"},"namespace":"apps"}', '' FROM (` + numbers(0, benchServices) + ") n",
	`INSERT INTO services (id, cluster_id, name, namespace, project_id, source_id, repository_id, revision, spec_digest, revised_at, created_at, updated_at, content_id, spec_version, managed_by_tool)
		SELECT 'svc_0123456789abcdef01_' || i, 'cls_0123456789abcdef01_' || (i % 10000), 'service-' || (i / 10000) || '-' || (i % 50), 'ns-' || (i % 40), 'prj_' || (i % 20), 'src_' || (i % 40), 'rep_' || (i % 20), 1, 's1:' || i, i, i, i,
		'con_' || (i % 40), 1, CASE WHEN i % 3 = 0 THEN 'operator' ELSE 'cli' END FROM (` + numbers(0, benchServices) + ") n",
	`INSERT INTO statuses (service_id, cluster_id, hash, reported_at, sync, reason, health, message, errors, tarball_digest, spec_digest, revision, source_revision, applied_at, counts, components)
		SELECT 'svc_0123456789abcdef01_' || i, 'cls_0123456789abcdef01_' || (i % 10000), 'h' || i, (i * 7919) % 1000003, CASE i % 10 WHEN 0 THEN 'Failed' WHEN 1 THEN 'Drifted' ELSE 'Synced' END, '',
		CASE i % 10 WHEN 0 THEN 'Degraded' WHEN 2 THEN 'Progressing' ELSE 'Healthy' END, 'deployment apps/web: 1 of 3 pods is ready', '[]', 'axle1:' || (i % 40), 's1:' || i, 1,
		'0123456789abcdef0123456789abcdef0123' || (1000 + i % 40), 1, '{"total":4,"healthy":4}', '' FROM (` + numbers(0, benchServices) + ") n",
}

// numbers is a query of the numbers from and below an end, in both databases.
func numbers(from, below int) string {
	return fmt.Sprintf("WITH RECURSIVE c(i) AS (SELECT %d UNION ALL SELECT i + 1 FROM c WHERE i < %d) SELECT i FROM c", from, below-1)
}

func filled(b *testing.B, driver, source string) {
	b.Helper()
	db, err := sql.Open(driver, source)
	if err != nil {
		b.Fatal(err)
	}
	for _, statement := range fill {
		if _, err := db.ExecContext(b.Context(), statement); err != nil {
			b.Fatalf("%.60s: %v", statement, err)
		}
	}
	if _, err := db.ExecContext(b.Context(), "ANALYZE"); err != nil {
		b.Fatal(err)
	}
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkQueries measures lists of a hub with 10,000 clusters and 100,000 services,
// over HTTP, as the console asks for them.
func BenchmarkQueries(b *testing.B) {
	for name, config := range map[string]func() hubtest.HubConfig{
		"sqlite": func() hubtest.HubConfig {
			folder := hubtest.Folder(b)
			filled(b, "sqlite", filepath.Join(folder, "hub.db"))
			return hubtest.HubConfig{DataDir: folder}
		},
		"postgres": func() hubtest.HubConfig {
			url := hubtest.Postgres(b)
			filled(b, "pgx", url)
			return hubtest.HubConfig{DatabaseURL: url, KeyFile: filepath.Join(b.TempDir(), "hub.key")}
		},
	} {
		b.Run(name, func(b *testing.B) {
			made := config()
			h := hubtest.New(b, hubtest.Config{DataDir: made.DataDir, Hub: made})
			admin := clientsOf(h.URL, h.AdminToken)
			for i := range benchClusters {
				if i%50 != 0 {
					h.Parts().Fleet.Seen(fmt.Sprint("cls_0123456789abcdef01_", i), time.Now())
				}
			}
			runtime.GC()
			var memory runtime.MemStats
			runtime.ReadMemStats(&memory)
			began := time.Now()
			if err := h.Parts().Index.Rebuild(b.Context()); err != nil {
				b.Fatal(err)
			}
			rebuilt := time.Since(began)
			for b.Loop() {
				queries(b, admin)
			}
			b.ReportMetric(float64(memory.HeapAlloc)/(1<<20), "MiB-heap")
			b.ReportMetric(rebuilt.Seconds(), "s-rebuild")
		})
	}
}

// queries measures each kind of query.
func queries(b *testing.B, c clients) {
	b.Helper()
	verdict := &hubv1.ServiceFilter{Verdict: []string{"Failed"}}
	for name, q := range map[string]*hubv1.QueryServicesRequest{
		"unfiltered": {Limit: 200}, "verdict": {Limit: 200, Filter: verdict}, "text": {Limit: 200, Filter: &hubv1.ServiceFilter{Text: "service-7 edge-1*3"}},
		"facets": {Limit: 200, Facets: true, Filter: verdict}, "reported": {Limit: 200, Sort: "-reported_at"}, "named": {Limit: 200, Sort: "name"},
		"end": {Limit: 200, Offset: benchServices - 200}, "window500": {Limit: 500, Facets: true},
	} {
		measured(b, name, func() (int64, error) {
			got, err := c.fleet.QueryServices(b.Context(), connect.NewRequest(q))
			if err != nil {
				return 0, err
			}
			return got.Msg.GetTotal(), nil
		})
	}
	measured(b, "clusters", func() (int64, error) {
		got, err := c.fleet.QueryClusters(b.Context(), connect.NewRequest(&hubv1.QueryClustersRequest{Limit: 200, Facets: true, Sort: "verdict"}))
		if err != nil {
			return 0, err
		}
		return got.Msg.GetTotal(), nil
	})
	measured(b, "summary", func() (int64, error) {
		got, err := c.fleet.Summary(b.Context(), connect.NewRequest(&hubv1.FleetSummaryRequest{}))
		if err != nil {
			return 0, err
		}
		return got.Msg.GetServices(), nil
	})
	measured(b, "heatmap", func() (int64, error) {
		got, err := c.fleet.HeatMap(b.Context(), connect.NewRequest(&hubv1.HeatMapRequest{GroupBy: "tag:tier"}))
		if err != nil {
			return 0, err
		}
		return int64(len(got.Msg.GetGroups())), nil
	})
	measured(b, "search", func() (int64, error) {
		got, err := c.fleet.Search(b.Context(), connect.NewRequest(&hubv1.SearchRequest{Query: "service-7-1"}))
		if err != nil {
			return 0, err
		}
		return int64(len(got.Msg.GetResults())), nil
	})
}

// measured reports the 95th percentile of a call that must find something, and the CPU
// that hub and caller used for one, which other work on the machine does not change.
func measured(b *testing.B, name string, call func() (int64, error)) {
	b.Helper()
	took, used := make([]time.Duration, benchCalls), cpu(b)
	for i := range took {
		began := time.Now()
		if n, err := call(); err != nil || n == 0 {
			b.Fatalf("%s: %d, %v", name, n, err)
		}
		took[i] = time.Since(began)
	}
	b.ReportMetric(float64((cpu(b)-used).Microseconds())/1000/benchCalls, "cpu-ms-"+name)
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "ms-p95-"+name)
}

// cpu is what this process has used.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
