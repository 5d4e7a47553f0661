package hub_test

import (
	"database/sql"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/axle-cd/axle/hub"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/test/gitserver"
	"github.com/axle-cd/axle/test/pg"
)

// What people do with one service costs the same however many repositories and
// services of others the hub has: it reads what it names.
func TestOneServiceCostsTheSameInALargeHub(t *testing.T) {
	git, err := gitserver.Start(t.Context(), gitserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = git.Close() })
	for _, name := range []string{"fleet", "mine"} {
		if err := git.Create(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	database := hubtest.Postgres(t)
	way := pg.Away(t, database, 0)
	h := hubtest.New(t, hubtest.Config{Hub: hub.Config{
		DatabaseURL: way.URL, KeyFile: filepath.Join(t.TempDir(), "hub.key"), AllowHTTPUpstreams: true,
	}})
	b := &tableBed{Hub: h, t: t, bearers: map[string]string{"admin": h.AdminToken}, ids: map[string]string{}, client: http.DefaultClient}
	b.fleet(git.URL("fleet"))
	b.callers()
	b.must("Repositories/Create", fmt.Sprintf(`{"name": "mine", "project": "shop", "url": %q}`, git.URL("mine")))
	calls := map[string][3]string{
		"a view":                     {"reader", "Services/Get", `{"ref": {"cluster": "edge-shop", "name": "web"}}`},
		"a list":                     {"reader", "Services/List", `{"cluster": "edge-shop", "pageSize": 10}`},
		"a change":                   {"writer", "Services/Apply", service("edge-shop", "web", "repo-shop", `"configuration": {"a": "b"}`)},
		"a change by an address":     {"writer", "Services/Apply", fmt.Sprintf(`{"ref": {"cluster": "edge-shop", "name": "web"}, "spec": {"git": {"url": %q, "ref": "main", "folder": "web"}}, "dryRun": true}`, git.URL("mine"))},
		"a service of another chart": {"writer", "Services/Apply", `{"ref": {"cluster": "edge-shop", "name": "web"}, "spec": {"helm": {"url": "https://charts.example.test", "chart": "web", "version": "1.x"}}, "dryRun": true}`},
		"a view of its repository":   {"reader", "Repositories/Get", `{"name": "repo-shop"}`},
		"a look at its repository":   {"writer", "Repositories/Refresh", `{"name": "repo-shop"}`},
	}
	// The least of several, since others speak to the database meanwhile.
	cost := func(call [3]string) (bytes int64) {
		for try := range 7 {
			before := way.Received()
			if status, answer := b.as(call[0], call[1], call[2]); status != http.StatusOK {
				t.Fatalf("%s: %d %v", call[1], status, answer)
			}
			if n := way.Received() - before; try == 0 || n < bytes {
				bytes = n
			}
		}
		return bytes
	}
	small := map[string]int64{}
	for name, call := range calls {
		small[name] = cost(call)
	}
	db, err := sql.Open("pgx", database)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	// They are never fetched, because they have no leases.
	if _, err := db.ExecContext(t.Context(), `INSERT INTO repositories (id, name, project_id, kind, url, written_url, normal_url, normal_of, generation, created_at, updated_at, health)
		SELECT 'repo_' || n, 'other-' || n, 'prj_default', 'git', u, u, u, u, 1, 0, 0, 'PULLABLE' FROM (SELECT n, 'https://git.example.test/other/' || n AS u FROM generate_series(1, 2000) n) all_of_them`); err != nil {
		t.Fatal(err)
	}
	for name, call := range calls {
		if large := cost(call); large > small[name]+4096 {
			t.Errorf("%s (%s) reads %d bytes beside 2,000 repositories, %d beside 2", name, call[1], large, small[name])
		}
	}
}
