// Package peer is what the replicas of one hub know of each other: who is
// there (Members), who does what alone (Lease), and the few calls between them
// (Client, NewHandler). One replica is a hub too; then the others are none.
//
// It does not decide what is done under a lease and stores nothing; hub/store
// implements its stores, hub wires it, and domain parts see small interfaces of
// their own. Repositories have leases of their own with a rule more, in
// hub/gitcache.
//
//	free --acquire--> held --renew each 5 s--> held --release or lost--> free
//	                    `--12 s without a renewal--> fenced --expiry + 5 s--> free
//
// Invariants: a lease lasts 20 s by the database's clock; its holder stops its
// work 12 s after the start of its last good renewal by its own monotonic
// clock, and another takes it 5 s after expiry at the earliest, so two holders
// do not overlap unless a machine stood still for longer; epochs only grow. A
// replica writes a heartbeat each 5 s and counts as alive for 20 s after it;
// one that stops in order is waited for two minutes, and nobody counts as gone
// whose heartbeats are old because the database was away.
// Calls are signed with a key that only replicas have, and are refused when
// their time is off by more than a minute.
package peer
