package rows

import (
	"fmt"
	"slices"
	"strings"

	"github.com/axle-cd/axle/hub/store/query"
)

// Table is the definition of how values of T stand in a table.
type Table[T any] struct {
	name, alias string
	define      func(c *Columns, v *T)
	then        func(v *T)
	columns     []Column
	read        []bool
}

// Definition is a Table of whatever values.
type Definition interface {
	Name() string
	Describe() (v any, columns []Column)
}

// Of defines a table by its name, with an alias after a space where queries join
// others. define names the columns of *v to c; it keeps neither.
func Of[T any](table string, define func(c *Columns, v *T)) *Table[T] {
	name, alias, _ := strings.Cut(table, " ")
	t := &Table[T]{name: name, alias: alias, define: define}
	_, t.columns = t.Describe()
	t.read = make([]bool, len(t.columns))
	for i, c := range t.columns {
		t.read[i] = true
		if slices.ContainsFunc(t.columns[:i], func(other Column) bool { return c.Own() && other.Name == c.Name }) {
			panic(fmt.Sprintf("rows: table %s has the column %s twice", name, c.Name))
		}
	}
	return t
}

// Unread leaves columns out of what queries read: they are large, and read by a
// query of their own.
func (t *Table[T]) Unread(names ...string) *Table[T] {
	for _, name := range names {
		t.read[t.place(name)] = false
	}
	return t
}

// Then calls fn with each value that was read.
func (t *Table[T]) Then(fn func(v *T)) *Table[T] {
	t.then = fn
	return t
}

// Name is the table's.
func (t *Table[T]) Name() string { return t.name }

// Describe returns an empty value and the columns, whose fields are that value's.
func (t *Table[T]) Describe() (v any, columns []Column) {
	empty, c := new(T), Columns{}
	t.define(&c, empty)
	return empty, c.listed
}

// place returns where the definition has a column.
func (t *Table[T]) place(name string) int {
	at := slices.IndexFunc(t.columns, func(c Column) bool { return c.Own() && c.Name == name })
	if at < 0 {
		panic(fmt.Sprintf("rows: table %s has no column %s", t.name, name))
	}
	return at
}

// Names are the columns of Select, with commas between them.
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

// Select begins a query of all columns that are read: "SELECT … FROM table ".
// Joins and conditions follow it.
func (t *Table[T]) Select() string {
	from := t.name + " "
	if t.alias != "" {
		from += t.alias + " "
	}
	return "SELECT " + t.Names() + " FROM " + from
}

// Reader returns what reads the rows of one query of Select, one after the other.
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
