package query

import (
	"fmt"
	"strings"
)

// Expression is inserted into a list of Values unchanged, not as an argument.
type Expression string

// Now is the database's clock in microseconds, as a column of Values.
const Now = Expression("{now}")

// Values are the rows of a VALUES list, all with the same number of columns.
type Values struct{ rows [][]any }

// Add adds a row.
func (v *Values) Add(columns ...any) { v.rows = append(v.rows, columns) }

// List returns all rows as a list, $1 its first argument, with the arguments.
// It is for lists whose length the caller limits.
func (v *Values) List() (list string, args []any) { return values(v.rows) }

// Each calls fn with a list and its arguments, at most MaxIn rows at a time.
func (v *Values) Each(fn func(list string, args []any) error) error {
	for start := 0; start < len(v.rows); start += MaxIn {
		if err := fn(values(v.rows[start:min(start+MaxIn, len(v.rows))])); err != nil {
			return err
		}
	}
	return nil
}

func values(rows [][]any) (string, []any) {
	var list strings.Builder
	var args []any
	for _, row := range rows {
		between := "("
		if list.Len() > 0 {
			between = ", ("
		}
		for _, column := range row {
			list.WriteString(between)
			between = ", "
			if as, ok := column.(Expression); ok {
				list.WriteString(string(as))
				continue
			}
			args = append(args, column)
			fmt.Fprintf(&list, "$%d", len(args))
		}
		list.WriteString(")")
	}
	return list.String(), args
}
