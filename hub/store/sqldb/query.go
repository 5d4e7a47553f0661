package sqldb

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

// Runner is the common interface of a transaction and a pool.
type Runner interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

type transactionKey struct{}

// Transaction returns the transaction of ctx, nil outside one.
func Transaction(ctx context.Context) *sql.Tx {
	tx, _ := ctx.Value(transactionKey{}).(*sql.Tx)
	return tx
}

// loneKey marks a context whose single statement is its own transaction.
type loneKey struct{}

// writer returns the runner for writes of ctx, nil outside Write and WriteOne.
func (db *DB) writer(ctx context.Context) Runner {
	if tx := Transaction(ctx); tx != nil {
		return tx
	}
	lone, _ := ctx.Value(loneKey{}).(Runner)
	return lone
}

// Reader returns the transaction of ctx, otherwise the read-only pool.
func (db *DB) Reader(ctx context.Context) Runner {
	if w := db.writer(ctx); w != nil {
		return w
	}
	return db.Pools.Read
}

// Exec runs a statement in the transaction of ctx and returns how many rows it
// changed. {now} in it is the database's clock in microseconds.
func (db *DB) Exec(ctx context.Context, statement string, args ...any) (int64, error) {
	tx := db.writer(ctx)
	if tx == nil {
		return 0, errcode.New(errcode.Internal, "a row was written outside a transaction")
	}
	clean, err := storable(args)
	if err != nil {
		return 0, err
	}
	result, err := tx.ExecContext(ctx, db.statement(statement, clean), clean...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// statement returns the query in the database's dialect.
func (db *DB) statement(text string, args []any) string {
	text = db.dialect.statement(text)
	if db.Trace != nil {
		db.Trace(text, args)
	}
	return text
}

// Each calls take for each row. take must not use the store: the connection is
// busy until the last row was read.
func (db *DB) Each(ctx context.Context, statement string, args []any, take func(query.Scan) error) error {
	clean, err := storable(args)
	if err != nil {
		return err
	}
	rows, err := db.Reader(ctx).QueryContext(ctx, db.statement(statement, clean), clean...)
	if err != nil {
		return db.Coded(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := take(rows.Scan); err != nil {
			return err
		}
	}
	return db.Coded(rows.Err())
}

// Read gives fn a context in which all reads see one snapshot of the database,
// for data that must be consistent: an index, a list with its position.
func (db *DB) Read(ctx context.Context, fn func(ctx context.Context) error) error {
	if Transaction(ctx) != nil {
		return fn(ctx)
	}
	tx, err := db.Pools.Read.BeginTx(ctx, &sql.TxOptions{Isolation: db.dialect.isolation, ReadOnly: true})
	if err != nil {
		return db.Coded(fmt.Errorf("begin a read: %w", err))
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
			clean[i] = CleanText(v.String())
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

// CleanText drops what one of the databases refuses: NUL and invalid UTF-8.
func CleanText(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
}
