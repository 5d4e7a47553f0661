package rows

import "reflect"

// Scalar is a type that a column stores without an encoding: text or a whole number.
type Scalar interface {
	~string | ~bool | ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32
}

// Columns collects the columns of a definition, which must always name the same
// ones in the same order. It is valid only within the definition.
type Columns struct {
	does purpose
	// picked are the columns that are read or written, by their position in the
	// definition; at is the position of the next one.
	picked []bool
	at     int
	into   []any
	args   []any
	listed []Column
	// named are the fields of each call of Fields, in order; call is the next one. The
	// first run of a definition finds them.
	named *[][]named
	call  int
}

// purpose is why a definition runs.
type purpose int

const (
	lists purpose = iota
	reads
	writes
)

// Column is one column of a definition.
type Column struct {
	// Name is the name of the column, or an expression.
	Name string
	// Type is TEXT or BIGINT.
	Type string
	// Field points to the field that the column is read into.
	Field any
}

// Own reports whether it is a column of the table itself, which can be written. An
// expression, such as "c.name || c.id" or "o.digest", is only read.
func (c Column) Own() bool {
	for i, r := range c.Name {
		if r != '_' && (r < 'a' || r > 'z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return c.Name != ""
}

// field is the field of one column. Fields with an encoding also implement
// sql.Scanner.
type field interface {
	arg() any
	pointer() any
	kind() string
}

// add adds a column that is scanned into into and written from f.
func (c *Columns) add(name string, into any, f field) {
	picked := c.does == lists || c.picked[c.at]
	c.at++
	switch {
	case !picked:
	case c.does == reads:
		c.into = append(c.into, into)
	case c.does == writes:
		c.args = append(c.args, f.arg())
	default:
		c.listed = append(c.listed, Column{Name: name, Type: f.kind(), Field: f.pointer()})
	}
}

const (
	text  = "TEXT"
	whole = "BIGINT"
)

// Col adds a column of text, whole numbers, or booleans as 0 and 1.
func Col[F Scalar](c *Columns, name string, to *F) { c.add(name, to, scalar[F]{to}) }

type scalar[F Scalar] struct{ to *F }

func (f scalar[F]) arg() any     { return *f.to }
func (f scalar[F]) pointer() any { return f.to }
func (f scalar[F]) kind() string { return kindOf(reflect.TypeFor[F]()) }

func kindOf(t reflect.Type) string {
	if t.Kind() == reflect.String {
		return text
	}
	return whole
}
