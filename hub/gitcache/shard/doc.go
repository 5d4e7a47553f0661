// Package shard makes sure that each repository has one owner in the whole
// hub, and runs on this replica what belongs to an owner.
//
//	wanted --(lease acquired)--> owned --(no longer wanted, stop)--> released
//	   ^                           |
//	   +--(lost, or fenced: 12 s without a proof)
//
// It knows neither Git nor SQL: what an owner does, and where leases and
// placements are kept, is given to it. With one replica that replica owns
// everything. Among several, Plan says which should own and which should follow
// what, and May which of them may try for a lease that is free; the lease alone
// decides who owns. Moves are carried out elsewhere: the new owner asks the old
// one to hand over.
//
// Invariants: an owner's context ends 12 s, by the monotonic clock, after the
// start of the last renewal that proved its lease, whatever the database does;
// a lease is given back only after its owner has ended; no work begins before all
// leases of one look are taken or a call for them failed. Plan moves at most one
// repository in 10 s off an owner that is well, never more than two at a time,
// none off a replica that only restarts, and gives none more to carry than 1.25
// times the mean, or the mean and one repository.
package shard
