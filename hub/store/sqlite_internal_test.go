package store

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/axle-cd/axle/hub/store/sqldb"
)

// openPlainSQLite opens the hub's file as another program would.
func openPlainSQLite(t *testing.T, dir string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", sqldb.SQLiteURL(filepath.Join(dir, "hub.db"), "deferred", []string{"busy_timeout(5000)"}))
	if err == nil {
		t.Cleanup(func() { db.Close() })
	}
	return db, err
}

func TestDeferredTransactionsAreNotUsed(t *testing.T) {
	config := Databases["sqlite"](t)
	s, err := Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	other, err := openPlainSQLite(t, config.DataDir)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	deferred, err := other.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer deferred.Rollback()
	var n int
	if err := deferred.QueryRowContext(ctx, "SELECT count(*) FROM settings").Scan(&n); err != nil {
		t.Fatal(err)
	}
	tx, err := s.db.Pools.Write.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO settings (name, value) VALUES ('between', '1')"); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	_, err = deferred.ExecContext(ctx, "INSERT INTO settings (name, value) VALUES ('late', '1')")
	if err == nil {
		t.Fatal("a deferred transaction wrote over what it had read; the reason for immediate ones is gone")
	}
	if !sqldb.Retryable(err) {
		t.Fatalf("Write would not run again after %v", err)
	}
}
