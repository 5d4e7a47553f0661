package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
)

// Drivers store a time as text that sorts wrongly and read other types in their
// own ways, so there are two types of columns, and text is ordered by bytes.
func TestColumnsAreTextOrWholeNumbers(t *testing.T) {
	storetest.OnEmpty(t, func(t *testing.T, d storetest.Database) {
		d.Open(t)
		query := `SELECT m.name, c.name, c.type, 'C' FROM sqlite_master m JOIN pragma_table_info(m.name) c
			WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' AND m.name NOT LIKE 'goose_%'`
		if d.IsPostgres() {
			query = `SELECT table_name, column_name, data_type, CASE data_type WHEN 'text' THEN coalesce(collation_name, 'default') ELSE 'C' END FROM information_schema.columns
				WHERE table_schema = 'public' AND table_name NOT LIKE 'goose_%'`
		}
		rows, err := d.SQL(t).QueryContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		columns := 0
		for rows.Next() {
			var table, column, kind, collation string
			if err := rows.Scan(&table, &column, &kind, &collation); err != nil {
				t.Fatal(err)
			}
			columns++
			if kind = strings.ToLower(kind); (kind != "text" && kind != "bigint") || collation != "C" {
				t.Errorf("column %s.%s is %s with collation %s; use TEXT or BIGINT", table, column, kind, collation)
			}
		}
		if err := rows.Err(); err != nil || columns < 20 {
			t.Fatalf("%d columns, %v", columns, err)
		}
	})
}

func TestTextIsOrderedByBytes(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		d.Open(t)
		db := d.SQL(t)
		for _, name := range []string{"b", "B", "a-b", "ab", "ä", "A"} {
			if _, err := db.ExecContext(t.Context(), "INSERT INTO settings (name, value) VALUES ($1, 'order')", name); err != nil {
				t.Fatal(err)
			}
		}
		rows, err := db.QueryContext(t.Context(), "SELECT name FROM settings WHERE value = 'order' ORDER BY name")
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		var got []string
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				t.Fatal(err)
			}
			got = append(got, name)
		}
		if want := "[A B a-b ab b ä]"; fmt.Sprint(got) != want {
			t.Fatalf("order %v, want %s", got, want)
		}
	})
}

func TestSchemaOneMinorAheadStartsAndTwoAheadDoesNot(t *testing.T) {
	storetest.OnEmpty(t, func(t *testing.T, d storetest.Database) {
		s, err := store.Open(t.Context(), d.Config)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		db := d.SQL(t)
		ahead := func(n int) {
			t.Helper()
			if _, err := db.ExecContext(t.Context(), "UPDATE settings SET value = $1 WHERE name = 'schema_minor'", fmt.Sprint(store.SchemaMinor+n)); err != nil {
				t.Fatal(err)
			}
		}
		ahead(1)
		// What the next version may do: more tables and columns.
		if _, err := db.ExecContext(t.Context(), "ALTER TABLE outbox ADD COLUMN more TEXT NOT NULL DEFAULT ''"); err != nil {
			t.Fatal(err)
		}
		s, err = store.Open(t.Context(), d.Config)
		if err != nil {
			t.Fatalf("one ahead: %v", err)
		}
		write(t, s, "a")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		ahead(2)
		if s, err := store.Open(t.Context(), d.Config); !errcode.Is(err, errcode.Conflict) || !strings.Contains(err.Error(), "newer hub") {
			t.Fatalf("two ahead: %v, %v", s, err)
		}
		ahead(0)
		d.Open(t)
	})
}

func TestSecondHubOnOneFileIsRefused(t *testing.T) {
	d := storetest.EmptySQLite(t)
	d.Open(t)
	if s, err := store.Open(t.Context(), d.Config); !errcode.Is(err, errcode.Conflict) || !strings.Contains(err.Error(), "another hub uses the data folder") {
		t.Fatalf("%v, %v", s, err)
	}
}

func TestWrongKeyFileIsRefused(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		s, err := store.Open(t.Context(), d.Config)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		other := d.Config
		other.KeyFile = filepath.Join(t.TempDir(), "other.key")
		if s, err := store.Open(t.Context(), other); !errcode.Is(err, errcode.Conflict) {
			t.Fatalf("%v, %v", s, err)
		}
		d.Open(t)
	})
}

func TestMissingKeyFileIsNotMadeAnew(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		s, err := store.Open(t.Context(), d.Config)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		key, aside := filepath.Join(d.Config.DataDir, "hub.key"), filepath.Join(d.Config.DataDir, "aside")
		if err := os.Rename(key, aside); err != nil {
			t.Fatal(err)
		}
		if s, err := store.Open(t.Context(), d.Config); !errcode.Is(err, errcode.Conflict) || !strings.Contains(err.Error(), "does not exist") {
			t.Fatalf("%v, %v", s, err)
		}
		if err := os.Rename(aside, key); err != nil {
			t.Fatal(err)
		}
		d.Open(t)
	})
}

func TestBadConfigurationSaysWhatToDo(t *testing.T) {
	for name, tc := range map[string]struct {
		config store.Config
		want   string
		never  string
	}{
		"nothing":  {store.Config{}, "--data-dir", "\x00"},
		"bad url":  {store.Config{DatabaseURL: "postgres://u:hunter2@h:bad/x", DataDir: t.TempDir()}, "--database-url", "hunter2"},
		"no hosts": {store.Config{DatabaseURL: "postgres://u:hunter2@127.0.0.1:1/x", DataDir: t.TempDir()}, "127.0.0.1:1", "hunter2"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := store.Open(t.Context(), tc.config)
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), tc.never) {
				t.Fatalf("error is %v", err)
			}
		})
	}
}
