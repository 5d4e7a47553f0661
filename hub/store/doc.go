// Package store keeps the hub's rows in SQLite (the default, one file and one
// process) or Postgres (several replicas), with the same statements, the same
// migrations and the same tests for both. It implements the store interfaces
// that the domain parts declare; each part's rows are in the package or the
// files named after it.
//
// It makes no decisions: its callers decide what may be written, and by whom.
// Only hub imports it; domain parts declare their own interfaces. Package sqldb
// has the connections, transactions and migrations, and package rows maps
// columns to fields.
//
//	Write(ctx, fn): begin -> fn, with the transaction in its context
//	                      -> events, then one feed row under the feed's lock
//	                      -> commit -> wake this replica and the others
//
// Invariants: all writes go through Write or WriteBatched, which retry after a
// serialisation failure, a deadlock or a busy file (so fn may run several
// times); the order of feed sequences is the order of commits, without gaps;
// columns are TEXT or BIGINT only, times are microseconds since 1970 UTC, and
// text holds neither NUL nor invalid UTF-8; reads inside a Write see its
// transaction, others use a pool that cannot write. Feed rows are kept 24 h,
// events 30 days.
package store
