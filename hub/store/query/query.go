// Package query runs statements for the parts of the hub's store, on either
// database: it scans rows into values, splits lists of ids, and encodes JSON
// columns. The store gives each part a DB, which finds the transaction in the
// context.
//
// It opens no database, begins no transaction and knows no table; hub/store
// does the first two, and hub/store and its subpackages know the tables.
// Everything is safe for concurrent use.
//
// Invariants: a list of ids is queried at most 500 at a time, and never with
// one statement per id.
package query

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// MaxIn limits the ids of one IN list.
const MaxIn = 500

// Scan reads the columns of a row.
type Scan = func(into ...any) error

// DB runs statements in the transaction of the context; reads do without one.
// {now} in a statement is the database's clock in microseconds.
type DB interface {
	// Exec returns how many rows it changed.
	Exec(ctx context.Context, statement string, args ...any) (int64, error)
	// Each calls take for each row. take must not use the database: the
	// connection is busy until the last row was read.
	Each(ctx context.Context, statement string, args []any, take func(Scan) error) error
}

// Encoder is an argument that is encoded as text when its statement runs.
type Encoder interface{ Encode() (string, error) }

// All reads all rows fully, so that the caller may write afterwards.
func All[T any](ctx context.Context, db DB, take func(Scan) (T, error), statement string, args ...any) ([]T, error) {
	var all []T
	err := db.Each(ctx, statement, args, func(row Scan) error {
		one, err := take(row)
		all = append(all, one)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// One reads the first row; found is false when there is none.
func One[T any](ctx context.Context, db DB, take func(Scan) (T, error), statement string, args ...any) (one T, found bool, err error) {
	err = db.Each(ctx, statement, args, func(row Scan) error {
		if found {
			return nil
		}
		found = true
		one, err = take(row)
		return err
	})
	return one, found && err == nil, err
}

// Need reads the first row, and returns missing when there is none.
func Need[T any](ctx context.Context, db DB, missing error, take func(Scan) (T, error), statement string, args ...any) (T, error) {
	one, found, err := One(ctx, db, take, statement, args...)
	if err == nil && !found {
		err = missing
	}
	return one, err
}

// Stream calls fn with each value that take reads. It must not use the database.
func Stream[T any](ctx context.Context, db DB, take func(Scan) (T, error), fn func(T) error, statement string, args ...any) error {
	return db.Each(ctx, statement, args, func(row Scan) error {
		one, err := take(row)
		if err != nil {
			return err
		}
		return fn(one)
	})
}

// ExecOne runs a statement that must change one row, and reports whether it did.
func ExecOne(ctx context.Context, db DB, statement string, args ...any) (bool, error) {
	n, err := db.Exec(ctx, statement, args...)
	return n == 1, err
}

// ExecElse runs a statement that must change one row, and returns otherwise when it did not.
func ExecElse(ctx context.Context, db DB, otherwise error, statement string, args ...any) error {
	changed, err := ExecOne(ctx, db, statement, args...)
	if err == nil && !changed {
		err = otherwise
	}
	return err
}

// Value scans a row of one column.
func Value[T any](row Scan) (one T, err error) {
	err = row(&one)
	return one, err
}

// Placeholders returns "$first, …" for n arguments, for IN lists.
func Placeholders(first, n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "$%d", first+i)
	}
	return b.String()
}

// Chunks calls fn with the ids as arguments, at most MaxIn at a time.
func Chunks[S ~string](ids []S, fn func(args []any) error) error {
	for start := 0; start < len(ids); start += MaxIn {
		part := ids[start:min(start+MaxIn, len(ids))]
		args := make([]any, len(part))
		for i, id := range part {
			args[i] = string(id)
		}
		if err := fn(args); err != nil {
			return err
		}
	}
	return nil
}

// JSON returns v as text. The stored types always encode.
func JSON(v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encode a column: %w", err)
	}
	return string(text), nil
}

// FromJSON decodes a column; empty text leaves v alone.
func FromJSON(text string, v any) error {
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), v); err != nil {
		return fmt.Errorf("decode a column: %w", err)
	}
	return nil
}

// List returns a list's JSON, empty for an empty list: almost all services have
// one source at their root and need no list.
func List[T any](list []T) (string, error) {
	if len(list) == 0 {
		return "", nil
	}
	return JSON(list)
}
