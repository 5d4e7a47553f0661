package pg

import (
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/axle-cd/axle/internal/eventually"
)

// Reads is what Postgres read of each table.
type Reads map[string]TableReads

// TableReads counts rows, those that an index was asked for among them, and
// scans of the whole table.
type TableReads struct{ Rows, Scans int64 }

// Rows adds all tables up.
func (r Reads) Rows() (n int64) {
	for _, t := range r {
		n += t.Rows
	}
	return n
}

// String names the tables that were read.
func (r Reads) String() string {
	var b strings.Builder
	for name, t := range r {
		if t != (TableReads{}) {
			fmt.Fprintf(&b, "%s: %d rows, %d scans; ", name, t.Rows, t.Scans)
		}
	}
	return b.String()
}

// CountReads resets the counters and returns a function that returns the reads since.
// A server's processes report when they end, so the application must not be connected
// at either time.
func CountReads(tb TB, database, application string) func() Reads {
	tb.Helper()
	alone(tb, database, application)
	conn := connect(tb, database)
	if _, err := conn.Exec(tb.Context(), "SELECT pg_stat_reset()"); err != nil {
		tb.Fatalf("%v", err)
	}
	if err := conn.Close(tb.Context()); err != nil {
		tb.Fatalf("%v", err)
	}
	return func() Reads {
		tb.Helper()
		alone(tb, database, application)
		conn := connect(tb, database)
		defer conn.Close(tb.Context())
		rows, err := conn.Query(tb.Context(), `SELECT t.relname, (coalesce(t.seq_tup_read, 0) + coalesce(i.entries, 0))::bigint, coalesce(t.seq_scan, 0)
			FROM pg_stat_user_tables t LEFT JOIN (SELECT relid, sum(idx_tup_read) AS entries FROM pg_stat_user_indexes GROUP BY relid) i
				ON i.relid = t.relid`)
		if err != nil {
			tb.Fatalf("%v", err)
		}
		reads := Reads{}
		for rows.Next() {
			var name string
			var t TableReads
			if err := rows.Scan(&name, &t.Rows, &t.Scans); err != nil {
				tb.Fatalf("%v", err)
			}
			reads[name] = t
		}
		if err := rows.Err(); err != nil {
			tb.Fatalf("%v", err)
		}
		return reads
	}
}

func connect(tb TB, database string) *pgx.Conn {
	tb.Helper()
	conn, err := pgx.Connect(tb.Context(), database)
	if err != nil {
		tb.Fatalf("%v", err)
	}
	return conn
}

// alone waits until the application is not connected: a process reports its reads
// before it ends.
func alone(tb TB, database, application string) {
	tb.Helper()
	conn := connect(tb, database)
	defer conn.Close(tb.Context())
	eventually.For(tb, 10*time.Second, "only this connection is open", func() error {
		var others int
		err := conn.QueryRow(tb.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = $1`, application).Scan(&others)
		if err == nil && others > 0 {
			err = fmt.Errorf("%d connections are open", others)
		}
		return err
	})
}
