package hubtest

import (
	"database/sql"
	"fmt"
	"strconv"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // registers the driver "pgx"
	_ "modernc.org/sqlite"             // registers the driver "sqlite"
)

// FillFleet writes a fleet straight into the tables of a hub that does not run: by its
// API 100,000 services take an hour, and the index reads the same rows. A tenth of the
// services is Failed and Degraded, another Drifted, another Progressing.
func FillFleet(tb testing.TB, driver, source string, clusters, services int) {
	tb.Helper()
	db, err := sql.Open(driver, source)
	if err != nil {
		tb.Fatal(err)
	}
	for _, statement := range fleetRows(clusters, services) {
		if _, err := db.ExecContext(tb.Context(), statement); err != nil {
			tb.Fatalf("%.60s: %v", statement, err)
		}
	}
	if _, err := db.ExecContext(tb.Context(), "ANALYZE"); err != nil {
		tb.Fatal(err)
	}
	if err := db.Close(); err != nil {
		tb.Fatal(err)
	}
}

// FilledCluster is the id of a cluster of FillFleet.
func FilledCluster(i int) string { return fmt.Sprint("cls_0123456789abcdef01_", i) }

// fleetRows are the statements of FillFleet.
func fleetRows(clusters, services int) []string {
	n := strconv.Itoa(clusters)
	return []string{
		"INSERT INTO projects (id, name, description, created_at) SELECT 'prj_' || i, 'team-' || i, '', 1 FROM (" + numbers(20) + ") n",
		`INSERT INTO repositories (id, name, project_id, kind, url, generation, created_at, updated_at, health)
			SELECT 'rep_' || i, 'config-' || i, 'prj_' || i, 'git', 'https://git.example.com/config-' || i, 1, 1, 1, 'PULLABLE' FROM (` + numbers(20) + ") n",
		`INSERT INTO clusters (id, name, handle, project_id, tags, metadata, distro, kubernetes_version, agent_version, nodes, cluster_uid, registered_at, pending, message, poll_interval, pinged_at, created_at, updated_at)
			SELECT 'cls_0123456789abcdef01_' || i, 'edge-' || (10000 + i), 'edge-' || (10000 + i), 'prj_' || (i % 20), '{"site":"site-' || (i % 300) || '","tier":"' || CASE WHEN i % 4 = 0 THEN 'staging' ELSE 'prod' END || '"}',
			'{}', 'k3s', 'v1.3' || (i % 5) || '.1', 'v0.' || (i % 3) || '.0', 3, 'uid-' || i, 1, 0, '', 120000000, 1, 1, 1 FROM (` + numbers(clusters) + ") n",
		`INSERT INTO contents (id, repository_id, source_revision, digest, entry, size, message, author, committed_at, parts, created_at)
			SELECT 'con_' || i, 'rep_' || (i % 20), '0123456789abcdef0123456789abcdef0123' || (1000 + i), 'axle1:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcd' || (10 + i), '', 1000, 'fix(web): say what is wrong', 'kim', 1, '', 1 FROM (` + numbers(40) + ") n",
		`INSERT INTO specs (owner_id, version, spec, secrets) SELECT 'svc_0123456789abcdef01_' || i, 1, '{"repository":"config-' || (i % 20) || '","git":{"ref":"main","folder":"apps/app-' || (i % 40) || '"},"namespace":"apps"}', '' FROM (` + numbers(services) + ") n",
		`INSERT INTO services (id, cluster_id, name, namespace, project_id, source_id, repository_id, revision, spec_digest, revised_at, created_at, updated_at, content_id, spec_version, managed_by_tool)
			SELECT 'svc_0123456789abcdef01_' || i, 'cls_0123456789abcdef01_' || (i % ` + n + `), 'service-' || (i / ` + n + `) || '-' || (i % 50), 'ns-' || (i % 40), 'prj_' || (i % 20), 'src_' || (i % 40), 'rep_' || (i % 20), 1, 's1:0123456789abcdef0123456789abcdef0123456789abcdef0123456789' || (100000 + i), i, i, i,
			'con_' || (i % 40), 1, CASE WHEN i % 3 = 0 THEN 'operator' ELSE 'cli' END FROM (` + numbers(services) + ") n",
		`INSERT INTO statuses (service_id, cluster_id, hash, reported_at, sync, reason, health, message, errors, tarball_digest, spec_digest, revision, source_revision, applied_at, counts, components)
			SELECT 'svc_0123456789abcdef01_' || i, 'cls_0123456789abcdef01_' || (i % ` + n + `), 'h' || i, (i * 7919) % 1000003, CASE i % 10 WHEN 0 THEN 'Failed' WHEN 1 THEN 'Drifted' ELSE 'Synced' END, '',
			CASE i % 10 WHEN 0 THEN 'Degraded' WHEN 2 THEN 'Progressing' ELSE 'Healthy' END, 'deployment apps/web: 1 of 3 pods is ready', '[]', 'axle1:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcd' || (10 + i % 40), 's1:0123456789abcdef0123456789abcdef0123456789abcdef0123456789' || (100000 + i), 1,
			'0123456789abcdef0123456789abcdef0123' || (1000 + i % 40), 1, '{"total":4,"healthy":4}', '' FROM (` + numbers(services) + ") n",
	}
}

// numbers is a query of the numbers below an end, in both databases.
func numbers(below int) string {
	return fmt.Sprintf("WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < %d) SELECT i FROM c", below-1)
}
