// Package shard makes sure that each repository has one owner in the whole
// hub, and runs on this replica what belongs to an owner.
//
//	wanted --(lease acquired)--> owned --(no longer wanted, stop)--> released
//	   ^                           |
//	   +--(lost, or fenced: 12 s without a proof)
//
// It knows neither Git nor SQL: what an owner does, and where leases are kept,
// is given to it. With one replica that replica owns everything. Which replica
// should own what, when there are several, is decided elsewhere and told by
// Want; here the lease alone decides.
//
// Invariants: an owner's context ends 12 s, by the monotonic clock, after the
// start of the last renewal that proved its lease, whatever the database does;
// a lease is given back only after its owner has ended.
package shard
