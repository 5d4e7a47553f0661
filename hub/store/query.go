package store

import (
	"context"
	"database/sql"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/internal/errcode"
)

// runner is the common interface of a transaction and a pool.
type runner interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

type transactionKey struct{}

func transaction(ctx context.Context) *sql.Tx {
	tx, _ := ctx.Value(transactionKey{}).(*sql.Tx)
	return tx
}

// loneKey marks a context whose single statement is its own transaction.
type loneKey struct{}

// writer returns the runner for writes of ctx, nil outside Write and writeOne.
func (s *Store) writer(ctx context.Context) runner {
	if tx := transaction(ctx); tx != nil {
		return tx
	}
	lone, _ := ctx.Value(loneKey{}).(runner)
	return lone
}

// reader returns the transaction of ctx, otherwise the read-only pool.
func (s *Store) reader(ctx context.Context) runner {
	if w := s.writer(ctx); w != nil {
		return w
	}
	return s.read
}

// exec runs a statement in the transaction of ctx and returns how many rows it
// changed. {now} in it is the database's clock in microseconds.
func (s *Store) exec(ctx context.Context, query string, args ...any) (int64, error) {
	tx := s.writer(ctx)
	if tx == nil {
		return 0, errcode.New(errcode.Internal, "a row was written outside a transaction")
	}
	clean, err := storable(args)
	if err != nil {
		return 0, err
	}
	result, err := tx.ExecContext(ctx, s.statement(query, clean), clean...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// statement returns the query in the database's dialect.
func (s *Store) statement(query string, args []any) string {
	query = s.dialect.statement(query)
	if s.trace != nil {
		s.trace(query, args)
	}
	return query
}

// execOne is exec for a statement that must change one row, and reports
// whether it did.
func (s *Store) execOne(ctx context.Context, query string, args ...any) (bool, error) {
	n, err := s.exec(ctx, query, args...)
	return n == 1, err
}

// scan reads the columns of a row.
type scan = query.Scan

// each calls take for each row. take must not use the store: the connection is
// busy until the last row was read.
func (s *Store) each(ctx context.Context, statement string, args []any, take func(scan) error) error {
	clean, err := storable(args)
	if err != nil {
		return err
	}
	rows, err := s.reader(ctx).QueryContext(ctx, s.statement(statement, clean), clean...)
	if err != nil {
		return s.coded(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := take(rows.Scan); err != nil {
			return err
		}
	}
	return s.coded(rows.Err())
}

// database is the store as a query.DB.
type database struct{ *Store }

// Exec implements query.DB.
func (d database) Exec(ctx context.Context, statement string, args ...any) (int64, error) {
	return d.exec(ctx, statement, args...)
}

// Each implements query.DB.
func (d database) Each(ctx context.Context, statement string, args []any, take func(scan) error) error {
	return d.each(ctx, statement, args, take)
}

// rowsOf reads all rows fully, so that the caller may write afterwards.
func rowsOf[T any](ctx context.Context, s *Store, take func(scan) (T, error), statement string, args ...any) ([]T, error) {
	return query.All(ctx, database{s}, take, statement, args...)
}

// rowOf reads the first row; found is false when there is none.
func rowOf[T any](ctx context.Context, s *Store, take func(scan) (T, error), statement string, args ...any) (one T, found bool, err error) {
	return query.One(ctx, database{s}, take, statement, args...)
}

// value scans a row of one column.
func value[T any](row scan) (T, error) { return query.Value[T](row) }

// These are short names of query's functions for older code.
var (
	placeholders = query.Placeholders
	chunks       = query.Chunks[string]
	jsonText     = query.JSON
	fromJSON     = query.FromJSON
)

// Read gives fn a context in which all reads see one snapshot of the database,
// for data that must be consistent: an index, a list with its position.
func (s *Store) Read(ctx context.Context, fn func(ctx context.Context) error) error {
	if transaction(ctx) != nil {
		return fn(ctx)
	}
	tx, err := s.read.BeginTx(ctx, &sql.TxOptions{Isolation: s.dialect.isolation, ReadOnly: true})
	if err != nil {
		return s.coded(fmt.Errorf("begin a read: %w", err))
	}
	defer tx.Rollback() //nolint:errcheck // nothing was written
	return fn(context.WithValue(ctx, transactionKey{}, tx))
}

// storable converts arguments to what every column can hold: whole numbers and
// clean text. A time.Time is refused because drivers store it as text that
// sorts wrongly, and bytes because a TEXT column of Postgres refuses them.
func storable(args []any) ([]any, error) {
	clean := make([]any, len(args))
	for i, arg := range args {
		switch arg := arg.(type) {
		case time.Time, *time.Time, time.Duration, []byte:
			return nil, errcode.New(errcode.Internal, "argument %d of a statement is a %T; store microseconds or text", i+1, arg)
		case asJSON:
			text, err := query.JSON(arg.v)
			if err != nil {
				return nil, err
			}
			if clean[i] = text; text == "null" {
				clean[i] = ""
			}
			continue
		}
		v := reflect.ValueOf(arg)
		switch v.Kind() {
		case reflect.String:
			clean[i] = cleanText(v.String())
		case reflect.Bool:
			clean[i] = int64(0)
			if v.Bool() {
				clean[i] = int64(1)
			}
		case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
			clean[i] = v.Int()
		case reflect.Uint8, reflect.Uint16, reflect.Uint32:
			clean[i] = int64(v.Uint())
		default:
			return nil, errcode.New(errcode.Internal, "argument %d of a statement is a %T; store whole numbers or text", i+1, arg)
		}
	}
	return clean, nil
}

// asJSON is the value of a column of JSON text: an argument, or with a pointer
// the target of a scan.
type asJSON struct{ v any }

// Scan implements sql.Scanner.
func (j asJSON) Scan(column any) error {
	text, _ := column.(string)
	return query.FromJSON(text, j.v)
}

// cleanText drops what one of the databases refuses: NUL and invalid UTF-8.
func cleanText(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
}
