// Package sqldb opens the hub's database, SQLite or Postgres, and runs
// statements and transactions on it. It handles the differences between the two,
// retries, batches of small writes, and migrations. hub/store calls it and has
// the tables.
//
//	Write(ctx, fn): begin -> fn, with the transaction in its context
//	                      -> Config.Finish, which writes the feed
//	                      -> commit -> Config.Committed
//
// It knows no table but settings, where it stores the version of the schema.
//
// Invariants: all writes go through Write, WriteBatched, WriteOne or Once; the
// first three retry, at most 12 times in 30 s, after a serialisation failure, a
// deadlock or a busy file, so fn may run several times. Arguments are text and
// whole numbers, without NUL and invalid UTF-8. Reads inside a Write see its
// transaction, others use a read-only pool. A batch has at most 500 writes of
// 100 ms, and at most 10,000 writes wait. A replica has at most 28 connections.
package sqldb
