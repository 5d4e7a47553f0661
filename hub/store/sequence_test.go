package store_test

import (
	"testing"

	"github.com/axle-cd/axle/hub/store/storetest"
)

// This is why the feed does not number its rows with a database sequence:
// numbers are assigned before the commit, so a reader at 2 would never see 1.
func TestDatabaseSequencesAreSeenOutOfOrder(t *testing.T) {
	d := storetest.Postgres(t)
	d.Open(t)
	db, ctx := d.SQL(t), t.Context()
	if _, err := db.ExecContext(ctx, "CREATE TABLE numbered (n BIGSERIAL)"); err != nil {
		t.Fatal(err)
	}
	slow, err := db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Rollback() //nolint:errcheck // it is committed, or the test failed
	const insert = "INSERT INTO numbered DEFAULT VALUES"
	if _, err := slow.ExecContext(ctx, insert); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(ctx, insert); err != nil {
		t.Fatal(err)
	}
	var count, highest int
	if err := db.QueryRowContext(ctx, "SELECT count(*), max(n) FROM numbered").Scan(&count, &highest); err != nil {
		t.Fatal(err)
	}
	if count != 1 || highest != 2 {
		t.Fatalf("%d rows up to %d are seen; the reason for the feed's lock is gone", count, highest)
	}
	if err := slow.Commit(); err != nil {
		t.Fatal(err)
	}
}
