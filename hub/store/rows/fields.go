package rows

import (
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Fields adds a column for each field of *v that the definition has not added before. A column is named after its field: ClusterID is
// cluster_id, ManagedBy.Tool is managed_by_tool, and what an embedded struct has is
// named as if it stood in v itself. Scalars are stored as Col does and times as Micros
// does; a field of another type needs a line with its encoding before, or is an error
// when the program starts.
func Fields[T any](c *Columns, v *T) { FieldsBut(c, v) }

// FieldsBut is Fields without those that pointers point to.
func FieldsBut[T any](c *Columns, v *T, without ...any) {
	base := reflect.ValueOf(v).Elem()
	if c.call == len(*c.named) {
		if c.does != lists {
			wrong("of "+base.Type().String(), "has another call of Fields than the first time")
		}
		*c.named = append(*c.named, c.unnamed(base, nil, "", without))
	}
	for _, f := range (*c.named)[c.call] {
		field := base.FieldByIndex(f.index)
		if to, ok := field.Addr().Interface().(*time.Time); ok {
			Micros(c, f.name, to)
		} else {
			c.scalar(f.name, field)
		}
	}
	c.call++
}

// scalar adds what Col adds, of a field whose type is known only at run time.
func (c *Columns) scalar(name string, field reflect.Value) {
	picked := c.does == lists || c.picked[c.at]
	c.at++
	switch {
	case !picked:
	case c.does == reads:
		c.into = append(c.into, field.Addr().Interface())
	case c.does == writes:
		c.args = append(c.args, field.Interface())
	default:
		c.listed = append(c.listed, Column{Name: name, Type: kindOf(field.Type()), Field: field.Addr().Interface()})
	}
}

// named is a field with the column of its name.
type named struct {
	name  string
	index []int
}

// unnamed returns the fields of a struct without a column.
func (c *Columns) unnamed(v reflect.Value, above []int, prefix string, without []any) (all []named) {
	for i := range v.NumField() {
		field, to, name := v.Type().Field(i), v.Field(i), prefix
		index := append(slices.Clone(above), i)
		if !field.Anonymous {
			name = strings.TrimPrefix(prefix+"_"+snake(field.Name), "_")
		}
		switch {
		case c.has(to, without):
		case field.Type == reflect.TypeFor[time.Time]():
			all = append(all, named{name, index})
		case field.Type.Kind() == reflect.Struct:
			all = append(all, c.unnamed(to, index, name, without)...)
		case !field.IsExported() || field.Type == reflect.TypeFor[time.Duration]() || !isScalar(field.Type.Kind()):
			wrong("of "+v.Type().String(), "has the field %s, which needs a line with its encoding or to be left out", field.Name)
		default:
			all = append(all, named{name, index})
		}
	}
	return all
}

// has reports whether a field has a column or is left out. A struct has the address of
// its first field, but another type.
func (c *Columns) has(field reflect.Value, without []any) bool {
	is := func(pointer any) bool {
		other := reflect.ValueOf(pointer)
		return other.Pointer() == field.UnsafeAddr() && other.Type().Elem() == field.Type()
	}
	return slices.ContainsFunc(without, is) || slices.ContainsFunc(c.listed, func(l Column) bool { return is(l.Field) })
}

// isScalar reports whether Scalar allows it.
func isScalar(k reflect.Kind) bool {
	return k == reflect.String || k == reflect.Bool || k >= reflect.Int && k <= reflect.Int64 || k >= reflect.Uint8 && k <= reflect.Uint32
}

// snake turns ClusterID into cluster_id.
func snake(name string) string {
	var b strings.Builder
	letters := []rune(name)
	for i, r := range letters {
		next := i+1 < len(letters) && unicode.IsLower(letters[i+1])
		if i > 0 && unicode.IsUpper(r) && (unicode.IsLower(letters[i-1]) || next) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
