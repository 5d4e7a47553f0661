package sqldb

import (
	"database/sql"
	"strings"
)

// dialect is what differs between the databases. There is nothing else: if a
// statement cannot be written for both, this is the place to say so.
type dialect struct {
	name string
	// now is an expression for microseconds by the database's own clock.
	now string
	// text is how a column of type TEXT is declared, so that it is ordered by
	// bytes whatever the locale.
	text string
	// isolation is what transactions ask for.
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

// statement puts the database's clock where a statement says {now}.
func (d dialect) statement(query string) string {
	return strings.ReplaceAll(query, "{now}", d.now)
}
