// Package hub puts the parts of the management plane together and runs them. It
// makes no decisions of its own. hub.go lists the parts and connects them, and
// run.go starts and stops them. The other files handle the process itself:
// certificates, the data folder, the setup token, readiness and metrics.
//
//	agents -> agentapi -> desired, gitcache, fleet, identity
//	people -> console  -> fleet, gitcache, identity
//	            everything below -> event (the change feed) and store (SQL)
//
// cmd/axle-hub reads flags into Config and calls New and Run; hub/hubtest does
// the same inside a test.
//
// Invariants: the hub serves plain HTTP only on loopback, unless a flag allows
// more; one process uses a data folder; the hub starts even when its upstreams
// and agents are unreachable; it is ready when its indexes are complete, and
// answers 503 until then; it stops within 10 s after Config.ShutdownDelay, and may be
// killed at any point.
package hub
