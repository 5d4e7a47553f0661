// Package event is the hub's change feed and its log of what happened.
//
// A domain part that changes something calls Append (machines care: an index
// must be brought up to date) and Record (people care: an event with who and
// why) inside the transaction that changes it. The store gathers both from the
// context and writes them as the last statements of that transaction, so that
// a change, its event and its feed row are one unit and the order of sequence
// numbers is the order of commits.
//
// Each replica runs one Feed. It tails the rows, hands them to its subscribers
// in order, and only then moves its Position, so whoever sees position P from
// a replica sees at least everything up to P in that replica's indexes.
//
//	transaction: rows … Append … Record … commit
//	                                  |
//	                 Wake, here and by a notice elsewhere; else a poll, 1 s or 3 s
//	                                  v
//	Feed: read rows after P -> every Subscriber.Apply -> P moves -> waiters go on
//
// Rely, beside the two, names what must not have been changed by others since
// the transaction's view began; the store compares it with the rows between.
//
// It stores nothing itself and knows no table; hub/store implements Store.
// Invariants: rows are applied once and in order within an incarnation; a
// waiter waits at most 2 s; a replica whose next row was dropped by retention
// (24 h) rebuilds its indexes whole and says so.
package event
