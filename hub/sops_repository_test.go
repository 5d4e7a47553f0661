package hub_test

import (
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/axle-cd/axle/hub"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/gitserver"
)

// A SOPS backend names a repository that may not be there yet. Whoever registers the name
// in another project is not read, unless it was read before there was this rule.
func TestBackendReadsOnlyTheRepositoryOfItsProject(t *testing.T) {
	git, err := gitserver.Start(t.Context(), gitserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = git.Close() })
	if err := git.Create(t.Context(), "values"); err != nil {
		t.Fatal(err)
	}
	secret, err := os.ReadFile("config/backend/testdata/prod.enc.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := git.Commit(t.Context(), "values", "main", "values", map[string]string{"secrets/prod.enc.yaml": string(secret), "web/a.yaml": "{}"}); err != nil {
		t.Fatal(err)
	}
	key, err := filepath.Abs("config/backend/testdata/age.key")
	if err != nil {
		t.Fatal(err)
	}
	dir, file := hubtest.Folder(t), filepath.Join(t.TempDir(), "backends.yaml")
	declare := func(more string) {
		t.Helper()
		text := fmt.Sprintf("backends:\n- {name: git, type: sops, sops: {repository: values, ref: main, folder: secrets, ageKeyFile: %q%s}}\n", key, more)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	token := ""
	n := 0
	// with starts a hub on the data folder for some steps. take creates a service that
	// takes a value, and returns the answer's status.
	with := func(do func(b *tableBed, take func() int)) {
		t.Helper()
		h, err := hubtest.Start(t.Context(), hubtest.Config{DataDir: dir, AdminToken: token, Hub: hub.Config{ConfigBackends: file, AllowHTTPUpstreams: true}})
		if err != nil {
			t.Fatal(err)
		}
		token = h.AdminToken
		b := &tableBed{Hub: h, t: t, bearers: map[string]string{"admin": h.AdminToken}, client: http.DefaultClient}
		do(b, func() int {
			n++
			var status int
			eventually.For(t, tableLimit, "the hub has what it needs to answer", func() error {
				var answer map[string]any
				status, answer = b.as("admin", "Services/Create", service("edge-shop", fmt.Sprintf("web-%d", n), "web", `"secretRefs": {"token": {"backend": "git", "path": "prod.enc.yaml", "key": "token"}}`))
				if status == http.StatusServiceUnavailable || strings.Contains(fmt.Sprint(answer["message"]), "has no branches") {
					return fmt.Errorf("%v", answer["message"])
				}
				return nil
			})
			return status
		})
		if err := h.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	register := func(b *tableBed, name, project string) {
		t.Helper()
		b.must("Repositories/Create", fmt.Sprintf(`{"name": %q, "project": %q, "url": %q}`, name, project, git.URL("values")))
	}
	declare("")
	with(func(b *tableBed, take func() int) {
		b.must("Projects/Create", `{"name": "shop", "limits": {"clusterScoped": true}}`)
		b.must("Clusters/Create", `{"name": "edge-shop", "project": "shop"}`)
		register(b, "web", "shop")
		register(b, "values", "shop")
		if status := take(); status == http.StatusOK {
			t.Error("the repository of whoever came first is read")
		}
		b.must("Repositories/Delete", `{"name": "values"}`)
		register(b, "values", "")
		if status := take(); status != http.StatusOK {
			t.Errorf("its own repository: %d", status)
		}
		b.must("Services/Delete", `{"ref": {"cluster": "edge-shop", "name": "web-2"}}`)
		b.must("Repositories/Delete", `{"name": "values"}`)
		register(b, "values", "shop")
	})
	with(func(_ *tableBed, take func() int) {
		if status := take(); status == http.StatusOK {
			t.Error("a restart binds to whoever took the name")
		}
	})
	forget, err := sql.Open("sqlite", filepath.Join(dir, "hub.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := forget.ExecContext(t.Context(), "DELETE FROM settings WHERE name LIKE 'sops_%'"); err != nil {
		t.Fatal(err)
	}
	if err := forget.Close(); err != nil {
		t.Fatal(err)
	}
	with(func(b *tableBed, take func() int) { // as after an upgrade
		if status := take(); status != http.StatusOK {
			t.Errorf("what was read before is not: %d", status)
		}
		if answer := b.must("Hub/AtRisk", `{}`); fmt.Sprint(answer["total"]) != "1" {
			t.Errorf("at risk: %v", answer)
		}
	})
	declare(", project: shop")
	with(func(b *tableBed, take func() int) {
		if status := take(); status != http.StatusOK {
			t.Errorf("the project that the backend names: %d", status)
		}
		if answer := b.must("Hub/AtRisk", `{}`); answer["total"] != nil {
			t.Errorf("at risk: %v", answer)
		}
	})
}
