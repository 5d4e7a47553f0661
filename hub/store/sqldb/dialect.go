package sqldb

import (
	"database/sql"
	"strings"
)

// dialect is everything that differs between the databases. A statement that
// cannot be written for both belongs here.
type dialect struct {
	name string
	// now is an expression for microseconds by the database's own clock.
	now string
	// text is the declaration of a TEXT column, so that it is ordered by bytes
	// whatever the locale.
	text string
	// isolation is the isolation level of transactions.
	isolation sql.IsolationLevel
}

var (
	sqliteDialect = dialect{
		name: "sqlite",
		now:  "CAST(unixepoch('subsec') * 1000000 AS INTEGER)",
		text: "TEXT",
	}
	postgresDialect = dialect{
		name:      "postgres",
		now:       "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)",
		text:      `TEXT COLLATE "C"`,
		isolation: sql.LevelRepeatableRead,
	}
)

// statement inserts the database's clock where a statement has {now}.
func (d dialect) statement(query string) string {
	return strings.ReplaceAll(query, "{now}", d.now)
}
