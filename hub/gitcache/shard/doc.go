// Package shard ensures that each repository has one owner in the whole hub,
// and runs the owner's work on this replica.
//
//	wanted --(lease acquired)--> owned --(no longer wanted, stop)--> released
//	   ^                           |
//	   +--(lost, or fenced: 12 s without a proof)
//
// It knows neither Git nor SQL: the owner's work and the stores of leases and
// placements are passed in. A single replica owns everything. With several,
// Plan says which replica should own and which should follow each repository,
// and May says which of them may try to acquire a free lease; only the lease
// decides who owns. Moves are carried out elsewhere: the new owner asks the old
// one to hand over.
//
// Invariants: an owner's context ends 12 s, by the monotonic clock, after the
// start of the last renewal that proved its lease, whatever the database does;
// a lease is given back only after its owner has ended; work begins only when all
// leases of one look are taken or a call for them failed. Plan moves at most one
// repository in 10 s off a healthy owner and never more than two at a time; it
// moves none off a replica that is only restarting; and it gives no replica
// more load than 1.25 times the mean, or the mean and one repository.
package shard
