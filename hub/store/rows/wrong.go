package rows

import "fmt"

// wrong ends the program. Definitions and statements are generated when it starts,
// so no row was read or written before.
func wrong(table, format string, args ...any) {
	panic(fmt.Sprintf("rows: table %s "+format, append([]any{table}, args...)...))
}
