// Package event is the hub's change feed and its event log.
//
// A domain part that changes something makes two calls inside its transaction:
// Append, for machines (an index must be updated), and Record, for people (an
// event that says who and why). The store collects both from the context and
// writes them as the last statements of that transaction. A change, its event
// and its feed row are therefore one unit, and the order of sequence numbers is
// the order of commits.
//
// Each replica runs one Feed. It tails the rows, passes them to its subscribers
// in order, and only then advances its Position. A caller that sees position P
// from a replica therefore sees at least everything up to P in that replica's
// indexes.
//
//	transaction: rows … Append … Record … commit
//	                                  |
//	                 Wake, here and by a notice elsewhere; else a poll, 1 s or 3 s
//	                                  v
//	Feed: read rows after P -> every Subscriber.Apply -> P moves -> waiters continue
//
// A third call, DependsOn, names what nobody else may have changed since the
// transaction took its snapshot; the store compares it with the feed rows
// written since then.
//
// It stores nothing itself and names no table; hub/store implements Store.
// Invariants: rows are applied once and in order within an incarnation; a
// waiter waits at most 2 s; a replica whose next row was dropped by retention
// (24 h) rebuilds its indexes completely and logs that.
package event
