// Package gitagent follows one Git upstream: it keeps a complete bare mirror,
// polls, fetches when a ref in use moved, and writes what each source now
// points at. A lease ensures that one agent per repository exists in the whole
// hub.
//
//	waiting --(poll due, kick)--> listing --(a ref moved)--> fetching
//	   ^                             |                          |
//	   |                             v                          v
//	   +------ writing health <-- nothing new          evaluating sources
//	   +------------------------- writing heads, health <-------+
//
// It does not decide who owns a repository (its caller does, with Lease), it
// does not keep tarballs (a Sink does), and it does not run git itself
// (upstream does).
//
// Invariants: polls are 120 s plus 0 to 60 s apart; a pass starts at least 5 s
// after the last start of a pass or fetch, by the database's clock; a pass ends
// when its lease can no longer be proved; every fetch runs under a guard that
// kills it 12 s after the last heartbeat; refs/axle/keep/<commit> exists before
// a head with that commit is written; a head is written only when its content
// or its error changed.
package gitagent
