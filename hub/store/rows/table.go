package rows

import (
	"fmt"
	"slices"
	"strings"

	"github.com/axle-cd/axle/hub/store/query"
)

// Table defines how values of T are stored in a table.
type Table[T any] struct {
	name, alias string
	define      func(c *Columns, v *T)
	then        func(v *T)
	columns     []Column
	read        []bool
}

// Definition is a Table of any type.
type Definition interface {
	Name() string
	Describe() (v any, columns []Column)
}

// Of defines a table by its name, with an alias after a space where queries join
// others. define adds the columns of *v to c and must not keep either.
func Of[T any](table string, define func(c *Columns, v *T)) *Table[T] {
	name, alias, _ := strings.Cut(table, " ")
	fields := &[][]named{}
	t := &Table[T]{name: name, alias: alias, define: func(c *Columns, v *T) {
		c.named = fields
		define(c, v)
	}}
	_, t.columns = t.Describe()
	t.read = make([]bool, len(t.columns))
	for i, c := range t.columns {
		t.read[i] = true
		if slices.ContainsFunc(t.columns[:i], func(other Column) bool { return c.Own() && other.Name == c.Name }) {
			wrong(name, "has the column %s twice", c.Name)
		}
	}
	return t
}

// Unread excludes columns from queries: they are large, and have a separate
// query.
func (t *Table[T]) Unread(names ...string) *Table[T] {
	for _, name := range names {
		t.read[t.place(name)] = false
	}
	return t
}

// Then calls fn with each value that was read, before the reader returns it.
func (t *Table[T]) Then(fn func(v *T)) *Table[T] {
	t.then = fn
	return t
}

// Name returns the name of the table.
func (t *Table[T]) Name() string { return t.name }

// Describe returns an empty value and the columns with pointers to its fields.
func (t *Table[T]) Describe() (v any, columns []Column) {
	empty, c := new(T), Columns{}
	t.define(&c, empty)
	return empty, c.listed
}

// place returns the position of a column in the definition.
func (t *Table[T]) place(name string) int {
	at := slices.IndexFunc(t.columns, func(c Column) bool { return c.Own() && c.Name == name })
	if at < 0 {
		wrong(t.name, "has no column %s", name)
	}
	return at
}

// Names returns the columns of Select, separated by commas.
func (t *Table[T]) Names() string {
	var names []string
	for i, c := range t.columns {
		switch {
		case !t.read[i]:
		case c.Own() && t.alias != "":
			names = append(names, t.alias+"."+c.Name)
		default:
			names = append(names, c.Name)
		}
	}
	return strings.Join(names, ", ")
}

// Select returns the beginning of a query of all columns that are read:
// "SELECT … FROM table ". The caller appends joins and conditions.
func (t *Table[T]) Select() string {
	from := t.name + " "
	if t.alias != "" {
		from += t.alias + " "
	}
	return "SELECT " + t.Names() + " FROM " + from
}

// Reader returns a function that scans the rows of one query of Select, one after
// the other.
func (t *Table[T]) Reader() func(row query.Scan) (T, error) {
	v := new(T)
	c := Columns{does: reads, picked: t.read, into: make([]any, 0, len(t.columns))}
	t.define(&c, v)
	into := c.into
	return func(row query.Scan) (T, error) {
		var empty T
		*v = empty
		if err := row(into...); err != nil {
			return empty, fmt.Errorf("read a row of %s: %w", t.name, err)
		}
		if t.then != nil {
			t.then(v)
		}
		return *v, nil
	}
}
