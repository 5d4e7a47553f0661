package store_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/test/pg"
	"github.com/axle-cd/axle/test/port"
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

// A Postgres that does not answer, is too old or has no such database is named in one
// line with what to do, and without the password.
func TestPostgresThatCannotBeUsedIsNamed(t *testing.T) {
	nobody, err := port.Address()
	if err != nil {
		t.Fatal(err)
	}
	base, err := url.Parse(pg.New(t))
	if err != nil {
		t.Fatal(err)
	}
	base.User, base.Path = url.UserPassword(base.User.Username(), "hunter2"), "/nowhere"
	for name, c := range map[string]struct{ url, wrong, repair string }{
		"unreachable": {"postgres://axle:hunter2@" + nobody + "/axle", "does not answer at " + nobody + " (connect: connection refused)", "network policies"},
		"too old":     {pg.Old(t, "90603"), "is version 9.6,", "14 or newer"},
		"old":         {pg.Old(t, "130004"), "is version 13,", "14 or newer"},
		"no database": {base.String(), "has no database nowhere", "CREATE DATABASE nowhere"},
		"no login":    {strings.Replace(base.String(), "axle:", "stranger:", 1), "does not let the user stranger in", "pg_hba.conf"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := store.Open(t.Context(), store.Config{DataDir: t.TempDir(), DatabaseURL: c.url})
			if err == nil {
				_ = s.Close()
				t.Fatal("it was opened")
			}
			text := err.Error()
			if !strings.Contains(text, "--database-url") || !strings.Contains(text, c.wrong) || !strings.Contains(text, c.repair) {
				t.Errorf("it says %q, not %q with %q", text, c.wrong, c.repair)
			}
			if strings.Contains(text, "\n") || strings.Contains(text, "hunter2") {
				t.Errorf("more than one line, or a password: %q", text)
			}
		})
	}
}
