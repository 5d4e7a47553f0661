package storetest

import (
	"bytes"
	"database/sql"
	"fmt"
	"strings"
	"testing"
)

// Copies makes n more rows like the one of a table that matches where, the columns of
// set made of the number n.
func (d Database) Copies(tb testing.TB, table, where string, n int, set map[string]string) {
	tb.Helper()
	db := d.SQL(tb)
	defer db.Close()
	rows, err := db.QueryContext(tb.Context(), "SELECT * FROM "+table+" LIMIT 0")
	if err != nil {
		tb.Fatal(err)
	}
	columns, err := rows.Columns()
	if err != nil {
		tb.Fatal(err)
	}
	if err := rows.Close(); err != nil {
		tb.Fatal(err)
	}
	values := make([]string, len(columns))
	for i, column := range columns {
		values[i] = "t." + column
		if v, ok := set[column]; ok {
			values[i] = v
		}
	}
	_, err = db.ExecContext(tb.Context(), fmt.Sprintf(`WITH RECURSIVE g(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM g WHERE n < %d)
		INSERT INTO %s (%s) SELECT %s FROM g, %s t WHERE %s`, n, table, strings.Join(columns, ", "), strings.Join(values, ", "), table, where))
	if err != nil {
		tb.Fatal(err)
	}
}

// Numbered is an expression for a name that ends in the number of a copy.
func Numbered(prefix string) string {
	return "'" + prefix + "' || substr(CAST(100000 + n AS TEXT), 2)"
}

// Exec runs statements beside the store.
func (d Database) Exec(tb testing.TB, statements ...string) {
	tb.Helper()
	db := d.SQL(tb)
	defer db.Close()
	for _, statement := range statements {
		if _, err := db.ExecContext(tb.Context(), statement); err != nil {
			tb.Fatalf("%s: %v", statement, err)
		}
	}
}

// Analyse updates the statistics that plans are made by, as Postgres's autovacuum does
// sooner or later.
func (d Database) Analyse(tb testing.TB) {
	tb.Helper()
	d.Exec(tb, "ANALYZE")
}

// WantAbsent checks that no column of any row of some tables has a text, and that they
// have rows.
func (d Database) WantAbsent(tb testing.TB, text string, tables ...string) {
	tb.Helper()
	db := d.SQL(tb)
	for _, table := range tables {
		rows, err := db.QueryContext(tb.Context(), "SELECT * FROM "+table)
		if err != nil {
			tb.Fatal(err)
		}
		defer rows.Close()
		names, err := rows.Columns()
		if err != nil {
			tb.Fatal(err)
		}
		count := 0
		for rows.Next() {
			count++
			values, into := make([]sql.RawBytes, len(names)), make([]any, len(names))
			for i := range values {
				into[i] = &values[i]
			}
			if err := rows.Scan(into...); err != nil {
				tb.Fatal(err)
			}
			for i, value := range values {
				if bytes.Contains(value, []byte(text)) {
					tb.Errorf("%s.%s holds it in clear", table, names[i])
				}
			}
		}
		if err := rows.Err(); err != nil || count == 0 {
			tb.Errorf("%s: %d rows, %v", table, count, err)
		}
	}
}
