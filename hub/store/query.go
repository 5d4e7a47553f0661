package store

import (
	"context"
	"database/sql"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/hub/store/rows"
	"github.com/axle-cd/axle/internal/errcode"
)

// runner is what a transaction and a pool have in common.
type runner interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

type transactionKey struct{}

func transaction(ctx context.Context) *sql.Tx {
	tx, _ := ctx.Value(transactionKey{}).(*sql.Tx)
	return tx
}

// loneKey is of a context whose one statement is a transaction of its own.
type loneKey struct{}

// writer returns what the statements of ctx change rows with, nil outside Write
// and writeOne.
func (s *Store) writer(ctx context.Context) runner {
	if tx := transaction(ctx); tx != nil {
		return tx
	}
	lone, _ := ctx.Value(loneKey{}).(runner)
	return lone
}

// reader returns the transaction of ctx, else the pool that cannot write.
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

// statement is as the database wants it.
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

// scan is the part of a row that a scanning function needs.
type scan = query.Scan

// each calls take for each row, which must not use the store: the connection
// is busy until the last row was read.
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

// database is the store as its parts see it.
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

// eachOf calls fn with each value that take reads. It must not use the store.
func eachOf[T any](ctx context.Context, s *Store, take func(scan) (T, error), fn func(T) error, statement string, args ...any) error {
	return s.each(ctx, statement, args, func(row scan) error {
		one, err := take(row)
		if err != nil {
			return err
		}
		return fn(one)
	})
}

// wrote runs a statement for a value, which must change one row, and reports
// whether it did.
func wrote[T any](ctx context.Context, s *Store, statement rows.Statement[T], v *T, further ...any) (bool, error) {
	n, err := statement.Exec(ctx, database{s}, v, further...)
	return n == 1, err
}

// value scans a row of one column.
func value[T any](row scan) (T, error) { return query.Value[T](row) }

// These stand for query's own in what is older than it.
var (
	placeholders = query.Placeholders
	chunks       = query.Chunks[string]
)

// Read gives fn a context in which all reads see one moment of the database,
// for what must fit together: an index, a list with its position.
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

// storable turns arguments into what every column can hold: whole numbers and
// clean text. A time.Time is refused, since drivers store it as text that
// sorts wrongly, and so are bytes, which a TEXT column of Postgres refuses.
func storable(args []any) ([]any, error) {
	clean := make([]any, len(args))
	for i, arg := range args {
		switch arg := arg.(type) {
		case time.Time, *time.Time, time.Duration, []byte:
			return nil, errcode.New(errcode.Internal, "argument %d of a statement is a %T; store microseconds or text", i+1, arg)
		case query.Encoder:
			text, err := arg.Encode()
			if err != nil {
				return nil, err
			}
			clean[i] = text
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

// cleanText drops what one of the databases refuses: NUL and bytes that are
// not UTF-8.
func cleanText(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
}
