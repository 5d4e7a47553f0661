package store

import (
	"context"

	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/hub/store/rows"
	"github.com/axle-cd/axle/hub/store/sqldb"
)

// Write runs fn in a transaction that its context carries, and commits it with the
// events and changes that fn appended. Inside another Write it joins that one. When
// the database requires a retry, fn runs again, so fn must change nothing but rows.
func (s *Store) Write(ctx context.Context, fn func(ctx context.Context) error) error {
	return s.db.Write(ctx, fn)
}

// WriteBatched is Write for the many small writes of agents: it waits up to 100
// ms and shares one commit and one feed row with up to 499 others. An error of
// fn rolls back only fn's part. It returns after the commit.
func (s *Store) WriteBatched(ctx context.Context, fn func(ctx context.Context) error) error {
	return s.db.WriteBatched(ctx, fn)
}

// Read gives fn a context in which all reads see one snapshot of the database,
// for data that must be consistent: an index, a list with its position.
func (s *Store) Read(ctx context.Context, fn func(ctx context.Context) error) error {
	return s.db.Read(ctx, fn)
}

// exec runs a statement in the transaction of ctx and returns how many rows it
// changed. {now} in it is the database's clock in microseconds.
func (s *Store) exec(ctx context.Context, statement string, args ...any) (int64, error) {
	return s.db.Exec(ctx, statement, args...)
}

// execOne is exec for a statement that must change one row, and reports
// whether it did.
func (s *Store) execOne(ctx context.Context, statement string, args ...any) (bool, error) {
	return query.ExecOne(ctx, s.db, statement, args...)
}

// scan reads the columns of a row.
type scan = query.Scan

// each calls take for each row. take must not use the store: the connection is
// busy until the last row was read.
func (s *Store) each(ctx context.Context, statement string, args []any, take func(scan) error) error {
	return s.db.Each(ctx, statement, args, take)
}

// rowsOf reads all rows fully, so that the caller may write afterwards.
func rowsOf[T any](ctx context.Context, s *Store, take func(scan) (T, error), statement string, args ...any) ([]T, error) {
	return query.All(ctx, s.db, take, statement, args...)
}

// rowOf reads the first row; found is false when there is none.
func rowOf[T any](ctx context.Context, s *Store, take func(scan) (T, error), statement string, args ...any) (one T, found bool, err error) {
	return query.One(ctx, s.db, take, statement, args...)
}

// eachOf calls fn with each value that take reads. It must not use the store.
func eachOf[T any](ctx context.Context, s *Store, take func(scan) (T, error), fn func(T) error, statement string, args ...any) error {
	return query.Stream(ctx, s.db, take, fn, statement, args...)
}

// wrote runs a statement for a value, which must change one row, and reports
// whether it did.
func wrote[T any](ctx context.Context, s *Store, statement rows.Statement[T], v *T, further ...any) (bool, error) {
	return statement.ExecOne(ctx, s.db, v, further...)
}

// value scans a row of one column.
func value[T any](row scan) (T, error) { return query.Value[T](row) }

// These are short names of functions of the packages below.
var (
	placeholders = query.Placeholders
	chunks       = query.Chunks[string]
	transaction  = sqldb.Transaction
	duplicate    = sqldb.Duplicate
	cleanText    = sqldb.CleanText
)
