// Package sqldb opens the hub's database, SQLite or Postgres, and runs
// statements and transactions on it: what differs between the two, retries,
// batches of small writes, and migrations. hub/store calls it, and keeps in it
// the tables that it knows and this package does not.
//
//	Write(ctx, fn): begin -> fn, with the transaction in its context
//	                      -> Config.Finish, which writes the feed
//	                      -> commit -> Config.Committed
//
// It has no table but settings, of which it keeps the version of the schema.
//
// What holds: all writes go through Write, WriteBatched, WriteOne or Once; the
// first three run again, at most 12 times in 30 s, after a serialisation failure,
// a deadlock or a busy file, so fn may run several times. Arguments are text and
// whole numbers, without NUL and invalid UTF-8. Reads inside a Write see its
// transaction, others use a pool that cannot write. A batch is at most 500 writes
// of 100 ms, and 10,000 wait at most. A replica holds at most 28 connections.
package sqldb
