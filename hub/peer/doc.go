// Package peer is what the replicas of one hub share: which replicas are alive
// (Members), which of them does a singleton task (Lease), and the few calls
// between them (Client, NewHandler). A hub may be a single replica; the list of
// others is then empty.
//
// It does not decide what is done under a lease and stores nothing; hub/store
// implements its stores, hub wires it, and domain parts declare the small
// interfaces that they use. Repositories have separate leases with one more
// rule, in hub/gitcache.
//
//	free --acquire--> held --renew each 5 s--> held --release or lost--> free
//	                    `--12 s without a renewal--> fenced --expiry + 5 s--> free
//
// Invariants: a lease lasts 20 s by the database's clock; its holder stops its
// work 12 s after the start of its last good renewal by its own monotonic
// clock, and another takes it 5 s after expiry at the earliest, so two holders
// do not overlap unless a machine stood still for longer; epochs only grow. A
// replica writes a heartbeat each 5 s and counts as alive for 20 s after it;
// the others wait two minutes for a replica that stopped in order, and a
// replica whose heartbeats are old because the database was unavailable does
// not count as gone. Calls are signed with a key that only replicas have, and
// are refused when their time is off by more than a minute.
package peer
