// Package store keeps the hub's rows in SQLite (the default, one file and one
// process) or Postgres (several replicas), with the same statements, the same
// migrations and the same tests for both. It implements the stores that the
// domain parts ask for; each part's rows are in the package or the files of its name.
//
// It decides nothing: what may be written, and by whom, is the caller's. Only
// hub imports it; domain parts see interfaces of their own. Connections,
// transactions and migrations are sqldb's, the columns of tables rows'.
//
//	Write(ctx, fn): begin -> fn, with the transaction in its context
//	                      -> events, then one feed row under the feed's lock
//	                      -> commit -> wake this replica and the others
//
// Invariants: all writes go through Write or WriteBatched, which run again
// after a serialisation failure, a deadlock or a busy file (so fn may run
// several times); the order of feed sequences is the order of commits, and
// they have no holes; columns are TEXT or BIGINT alone, times are microseconds
// since 1970 UTC, and text holds neither NUL nor invalid UTF-8; reads inside a
// Write see its transaction, others use a pool that cannot write. Feed rows
// are kept 24 h, events 30 days.
package store
