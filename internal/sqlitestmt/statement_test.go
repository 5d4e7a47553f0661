package sqlitestmt

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite" // registers the driver "sqlite"
)

func openStatements(t *testing.T) *sql.DB {
	t.Helper()
	db, err := Open("file:" + filepath.Join(t.TempDir(), "hub.db") + "?_txlock=deferred&_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(`CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT NOT NULL)`); err != nil {
		t.Fatal(err)
	}
	return db
}

func names(ctx context.Context, t *testing.T, tx *sql.Tx, from int, each func(string)) {
	t.Helper()
	rows, err := tx.QueryContext(ctx, `SELECT name FROM things WHERE id >= $1 ORDER BY id`, from)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		each(name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

func TestAKeptStatementIsNotSharedByTwoReaders(t *testing.T) {
	db, ctx := openStatements(t), t.Context()
	for n := range 3 {
		if _, err := db.Exec(`INSERT INTO things (id, name) VALUES ($1, $2)`, n, fmt.Sprint("n", n)); err != nil {
			t.Fatal(err)
		}
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback() //nolint:errcheck // it only reads
	var got []string
	names(ctx, t, tx, 0, func(outer string) {
		names(ctx, t, tx, 1, func(inner string) { got = append(got, outer+inner) })
	})
	if want := "[n0n1 n0n2 n1n1 n1n2 n2n1 n2n2]"; fmt.Sprint(got) != want {
		t.Errorf("read %v, want %s", got, want)
	}
}

func TestAKeptStatementSeesNewColumnsAndForgetsErrors(t *testing.T) {
	db := openStatements(t)
	insert := func(id int, name any) error {
		_, err := db.Exec(`INSERT INTO things (id, name) VALUES ($1, $2)`, id, name)
		return err
	}
	if err := insert(1, "a"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := insert(1, "b"); err == nil {
			t.Fatal("a second row with the same key was stored")
		}
		if err := insert(2, nil); err == nil {
			t.Fatal("a row without a name was stored")
		}
	}
	if _, err := db.Exec(`ALTER TABLE things ADD COLUMN more TEXT NOT NULL DEFAULT 'x'`); err != nil {
		t.Fatal(err)
	}
	if err := insert(2, "c"); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := db.QueryRow(`SELECT count(*) FROM things WHERE more = $1`, "x").Scan(&n); err != nil || n != 2 {
		t.Errorf("%d rows, %v; want 2", n, err)
	}
}

func TestOnlySoManyStatementsAreKept(t *testing.T) {
	db := openStatements(t)
	for n := range 3 * keptStatements {
		if _, err := db.Exec(fmt.Sprintf(`INSERT INTO things (id, name) VALUES ($1, 'n%d')`, n), n); err != nil {
			t.Fatal(err)
		}
	}
	one, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	err = one.Raw(func(inner any) error {
		c, ok := inner.(*conn)
		if !ok {
			return fmt.Errorf("the connection is a %T", inner)
		}
		if len(c.kept) != keptStatements || c.order.Len() != keptStatements {
			return fmt.Errorf("%d statements are kept, %d in order; want %d", len(c.kept), c.order.Len(), keptStatements)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
