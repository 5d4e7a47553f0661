package store_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/test/pg"
)

// A Postgres in which a hub could not live is refused with what to do, and nothing is
// written into it.
func TestUnsuitablePostgresIsRefused(t *testing.T) {
	base := pg.New(t)
	admin, err := pgx.Connect(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(t.Context())
	parsed, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.Trim(parsed.Path, "/")
	for _, c := range []struct{ database, make, want string }{
		{name + "_ascii", "CREATE DATABASE " + name + "_ascii ENCODING 'SQL_ASCII' LOCALE_PROVIDER libc LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0", "encoding SQL_ASCII"},
		{name + "_still", "CREATE DATABASE " + name + "_still ENCODING 'UTF8' TEMPLATE template0", "takes no writes"},
	} {
		if _, err := admin.Exec(t.Context(), c.make); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if conn, err := pgx.Connect(t.Context(), base); err == nil {
				_, _ = conn.Exec(t.Context(), "DROP DATABASE "+c.database)
				_ = conn.Close(t.Context())
			}
		})
		if c.want == "takes no writes" {
			if _, err := admin.Exec(t.Context(), "ALTER DATABASE "+c.database+" SET default_transaction_read_only = on"); err != nil {
				t.Fatal(err)
			}
		}
		parsed.Path = "/" + c.database
		s, err := store.Open(t.Context(), store.Config{DataDir: t.TempDir(), DatabaseURL: parsed.String()})
		if err == nil {
			_ = s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.database, err)
		}
	}
}
