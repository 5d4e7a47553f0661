package rows

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/internal/clock"
)

// JSON adds a column of JSON text. Empty text and NULL are the zero value.
func JSON[F any](c *Columns, name string, to *F) {
	f := document[F]{to}
	c.add(name, f, f)
}

// Sparse is JSON whose most frequent text, such as "{}" or "null", is stored as
// empty text.
func Sparse[F any](c *Columns, name string, to *F, frequent string) {
	f := document[F]{to}
	if c.does == reads {
		c.add(name, f, nil)
		return
	}
	c.add(name, nil, sparse[F]{f, frequent})
}

// List adds a column of a JSON list; an empty list is empty text.
func List[E any](c *Columns, name string, to *[]E) {
	f := list[E]{document[[]E]{to}}
	c.add(name, f, f)
}

// Text adds a column of bytes that are text, without an encoding.
func Text[F ~[]byte](c *Columns, name string, to *F) {
	f := plain[F]{to}
	c.add(name, f, f)
}

// Hex adds a column of bytes in hexadecimal digits.
func Hex(c *Columns, name string, to *[]byte) {
	f := digits{to}
	c.add(name, f, f)
}

// LooseHex is Hex that reads invalid digits as nil.
func LooseHex(c *Columns, name string, to *[]byte) {
	f := loose{digits{to}}
	c.add(name, f, f)
}

// Base64 adds a column of bytes in base64, for large values.
func Base64(c *Columns, name string, to *[]byte) {
	f := packed{to}
	c.add(name, f, f)
}

// Micros adds a column of microseconds since 1970 UTC; 0 is the zero time.
func Micros(c *Columns, name string, to *time.Time) {
	f := moment{to}
	c.add(name, f, f)
}

// Duration adds a column of a duration in microseconds.
func Duration(c *Columns, name string, to *time.Duration) {
	f := span{to}
	c.add(name, f, f)
}

// Flag adds a column of whole numbers; all but 0 are true.
func Flag(c *Columns, name string, to *bool) {
	f := flag{to}
	c.add(name, f, f)
}

// document is the field of a JSON column. It is encoded when its statement runs.
type document[F any] struct{ to *F }

func (f document[F]) arg() any                { return f }
func (f document[F]) pointer() any            { return f.to }
func (f document[F]) kind() string            { return text }
func (f document[F]) Encode() (string, error) { return query.JSON(*f.to) }

// Scan implements sql.Scanner.
func (f document[F]) Scan(column any) error {
	if column == nil {
		return nil
	}
	encoded, err := textOf(column)
	if err != nil {
		return err
	}
	return query.FromJSON(encoded, f.to)
}

// sparse is a document whose frequent text is stored as empty text.
type sparse[F any] struct {
	document[F]
	frequent string
}

func (f sparse[F]) arg() any { return f }

// Encode implements query.Encoder.
func (f sparse[F]) Encode() (string, error) {
	encoded, err := f.document.Encode()
	if encoded == f.frequent {
		encoded = ""
	}
	return encoded, err
}

type list[E any] struct{ document[[]E] }

func (f list[E]) arg() any { return f }

// Encode implements query.Encoder.
func (f list[E]) Encode() (string, error) { return query.List(*f.to) }

type plain[F ~[]byte] struct{ to *F }

func (f plain[F]) arg() any     { return string(*f.to) }
func (f plain[F]) pointer() any { return f.to }
func (f plain[F]) kind() string { return text }

// Scan implements sql.Scanner.
func (f plain[F]) Scan(column any) error {
	held, err := textOf(column)
	*f.to = F(held)
	return err
}

type digits struct{ to *[]byte }

func (f digits) arg() any     { return hex.EncodeToString(*f.to) }
func (f digits) pointer() any { return f.to }
func (f digits) kind() string { return text }

// Scan implements sql.Scanner.
func (f digits) Scan(column any) error {
	encoded, err := textOf(column)
	if err == nil {
		*f.to, err = hex.DecodeString(encoded)
	}
	return err
}

type loose struct{ digits }

// Scan implements sql.Scanner.
func (f loose) Scan(column any) error {
	if f.digits.Scan(column) != nil {
		*f.to = nil
	}
	return nil
}

type packed struct{ to *[]byte }

func (f packed) arg() any     { return base64.StdEncoding.EncodeToString(*f.to) }
func (f packed) pointer() any { return f.to }
func (f packed) kind() string { return text }

// Scan implements sql.Scanner.
func (f packed) Scan(column any) error {
	encoded, err := textOf(column)
	if err == nil {
		*f.to, err = base64.StdEncoding.DecodeString(encoded)
	}
	return err
}

type moment struct{ to *time.Time }

func (f moment) arg() any     { return clock.Micros(*f.to) }
func (f moment) pointer() any { return f.to }
func (f moment) kind() string { return whole }

// Scan implements sql.Scanner.
func (f moment) Scan(column any) error {
	micros, err := wholeOf(column)
	*f.to = clock.FromMicros(micros)
	return err
}

type span struct{ to *time.Duration }

func (f span) arg() any     { return f.to.Microseconds() }
func (f span) pointer() any { return f.to }
func (f span) kind() string { return whole }

// Scan implements sql.Scanner.
func (f span) Scan(column any) error {
	micros, err := wholeOf(column)
	*f.to = time.Duration(micros) * time.Microsecond
	return err
}

type flag struct{ to *bool }

func (f flag) arg() any     { return *f.to }
func (f flag) pointer() any { return f.to }
func (f flag) kind() string { return whole }

// Scan implements sql.Scanner.
func (f flag) Scan(column any) error {
	n, err := wholeOf(column)
	*f.to = n != 0
	return err
}

func textOf(column any) (string, error) {
	switch column := column.(type) {
	case string:
		return column, nil
	case []byte:
		return string(column), nil
	}
	return "", fmt.Errorf("the column holds a %T and not text", column)
}

func wholeOf(column any) (int64, error) {
	n, ok := column.(int64)
	if !ok {
		return 0, fmt.Errorf("the column holds a %T and not a whole number", column)
	}
	return n, nil
}
