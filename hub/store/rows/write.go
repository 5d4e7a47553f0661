package rows

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/axle-cd/axle/hub/store/query"
)

// Written is the set of columns that a statement writes.
type Written[T any] struct {
	table  *Table[T]
	picked []bool
	set    []assigned
	kept   []string
}

// assigned is a column that is written by an expression.
type assigned struct{ name, expression string }

// All writes all columns of the table itself.
func (t *Table[T]) All() Written[T] {
	picked := make([]bool, len(t.columns))
	for i, c := range t.columns {
		picked[i] = c.Own()
	}
	return Written[T]{table: t, picked: picked}
}

// Only writes the named columns.
func (t *Table[T]) Only(names ...string) Written[T] {
	picked := make([]bool, len(t.columns))
	for _, name := range names {
		picked[t.place(name)] = true
	}
	return Written[T]{table: t, picked: picked}
}

// Except writes all columns of the table itself except the named ones.
func (t *Table[T]) Except(names ...string) Written[T] {
	w := t.All()
	for _, name := range names {
		w.picked[t.place(name)] = false
	}
	return w
}

// Set writes a column by an expression instead of a field; the definition need not
// have the column. {id} in it is the argument of the column id, {1} the first of
// the further arguments of Exec, {now} the database's clock.
func (w Written[T]) Set(column, expression string) Written[T] {
	w.picked, w.set = slices.Clone(w.picked), append(slices.Clone(w.set), assigned{column, expression})
	for i, c := range w.table.columns {
		if c.Name == column {
			w.picked[i] = false
		}
	}
	return w
}

// Keep leaves columns unchanged in an existing row that an insert replaces.
func (w Written[T]) Keep(names ...string) Written[T] {
	w.kept = append(slices.Clone(w.kept), names...)
	return w
}

// names returns the written columns, fields first.
func (w Written[T]) names() []string {
	var names []string
	for i, c := range w.table.columns {
		if w.picked[i] {
			names = append(names, c.Name)
		}
	}
	for _, a := range w.set {
		names = append(names, a.name)
	}
	return names
}

// mostFurther is the most further arguments of a statement.
const mostFurther = 9

// expand inserts arguments into a text: {column}, {1}. {columns} are the names of
// all written columns, {values} their values. {now} stays.
func (w Written[T]) expand(template string) string {
	var pairs, values []string
	for i, c := range w.table.columns {
		if w.picked[i] {
			values = append(values, "$"+strconv.Itoa(len(values)+1))
			pairs = append(pairs, "{"+c.Name+"}", values[len(values)-1])
		}
	}
	for n := range mostFurther {
		pairs = append(pairs, "{"+strconv.Itoa(n+1)+"}", "$"+strconv.Itoa(len(values)+n+1))
	}
	arguments := strings.NewReplacer(pairs...)
	for _, a := range w.set {
		values = append(values, arguments.Replace(a.expression))
	}
	template = strings.NewReplacer("{columns}", strings.Join(w.names(), ", "), "{values}", strings.Join(values, ", ")).Replace(template)
	expanded := arguments.Replace(template)
	if left := strings.ReplaceAll(expanded, "{now}", ""); strings.ContainsAny(left, "{}") {
		wrong(w.table.name, "has a statement that refers to columns which it does not write: %s", left)
	}
	return expanded
}

// Statement returns a statement of the caller's text, with {columns}, {values},
// {a_column} and {1} replaced as in Set.
func (w Written[T]) Statement(template string) Statement[T] {
	return Statement[T]{text: w.expand(template), define: w.table.define, picked: w.picked}
}

// Insert adds one row. after follows the values, such as "ON CONFLICT DO NOTHING".
func (w Written[T]) Insert(after string) Statement[T] {
	return w.Statement(strings.TrimSpace("INSERT INTO " + w.table.name + " ({columns}) VALUES ({values}) " + after))
}

// Upsert adds one row, or replaces the row with the same keys.
func (w Written[T]) Upsert(keys ...string) Statement[T] { return w.Insert(w.OrReplace(keys...)) }

// OrReplace returns the text after an insert that replaces, in an existing row with
// the same keys, the written columns except those of Keep.
func (w Written[T]) OrReplace(keys ...string) string {
	names, stay := w.names(), append(slices.Clone(keys), w.kept...)
	for _, name := range stay {
		if !slices.Contains(names, name) {
			wrong(w.table.name, "has a statement that does not write its key %s", name)
		}
	}
	var sets []string
	for _, name := range names {
		if !slices.Contains(stay, name) {
			sets = append(sets, name+" = excluded."+name)
		}
	}
	return "ON CONFLICT (" + strings.Join(keys, ", ") + ") DO UPDATE SET " + strings.Join(sets, ", ")
}

// Update changes the row with the keys.
func (w Written[T]) Update(keys ...string) Statement[T] {
	var sets, where []string
	for i, c := range w.table.columns {
		switch {
		case !w.picked[i]:
		case slices.Contains(keys, c.Name):
			where = append(where, c.Name+" = {"+c.Name+"}")
		default:
			sets = append(sets, c.Name+" = {"+c.Name+"}")
		}
	}
	for _, a := range w.set {
		sets = append(sets, a.name+" = "+a.expression)
	}
	if len(where) != len(keys) {
		wrong(w.table.name, "has an update without all of its keys %v", keys)
	}
	return w.Statement("UPDATE " + w.table.name + " SET " + strings.Join(sets, ", ") + " WHERE " + strings.Join(where, " AND "))
}

// Statement writes a value of T.
type Statement[T any] struct {
	text   string
	define func(c *Columns, v *T)
	picked []bool
}

// Text returns the statement's text.
func (s Statement[T]) Text() string { return s.text }

// Append adds a value's arguments to args.
func (s Statement[T]) Append(args []any, v *T) []any {
	c := Columns{does: writes, picked: s.picked, args: args}
	s.define(&c, v)
	return c.args
}

// Exec runs the statement for a value, with the further arguments {1}, {2}, …, and
// returns how many rows it changed.
func (s Statement[T]) Exec(ctx context.Context, db query.DB, v *T, further ...any) (int64, error) {
	args := make([]any, 0, len(s.picked)+len(further))
	return db.Exec(ctx, s.text, append(s.Append(args, v), further...)...)
}

// ExecOne is Exec for a statement that must change one row, and reports whether it
// did.
func (s Statement[T]) ExecOne(ctx context.Context, db query.DB, v *T, further ...any) (bool, error) {
	n, err := s.Exec(ctx, db, v, further...)
	return n == 1, err
}

// ExecElse is Exec for a statement that must change one row, and returns otherwise when it
// did not.
func (s Statement[T]) ExecElse(ctx context.Context, db query.DB, otherwise error, v *T, further ...any) error {
	changed, err := s.ExecOne(ctx, db, v, further...)
	if err == nil && !changed {
		err = otherwise
	}
	return err
}

// Many writes values of T, 500 per statement.
type Many[T any] struct {
	head, tail string
	each       Statement[T]
	set        []any
}

// InsertMany adds rows; after follows their values. Expressions of Set must have no
// arguments.
func (w Written[T]) InsertMany(after string) Many[T] {
	m := Many[T]{
		head: "INSERT INTO " + w.table.name + " (" + strings.Join(w.names(), ", ") + ") VALUES ", tail: strings.TrimRight(" "+after, " "),
		each: w.Statement(""),
	}
	for _, a := range w.set {
		m.set = append(m.set, query.Expression(a.expression))
	}
	return m
}

// UpsertMany adds rows, or replaces those with the same keys. No two values may
// have the same keys.
func (w Written[T]) UpsertMany(keys ...string) Many[T] { return w.InsertMany(w.OrReplace(keys...)) }

// Exec runs the statement for values and returns how many rows it changed.
func (m Many[T]) Exec(ctx context.Context, db query.DB, all []T) (changed int64, err error) {
	var list query.Values
	for i := range all {
		list.Add(append(m.each.Append(nil, &all[i]), m.set...)...)
	}
	err = list.Each(func(values string, args []any) error {
		n, err := db.Exec(ctx, m.head+values+m.tail, args...)
		changed += n
		return err
	})
	return changed, err
}
