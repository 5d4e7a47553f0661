// Package hub puts the parts of the management plane together and runs them.
// It decides nothing: hub.go is the list of the parts and who gets whom,
// run.go their common life, and the other files are the rim: certificates, the
// data folder, the setup token, readiness and metrics.
//
//	agents -> agentapi -> desired, gitcache, fleet, identity
//	people -> console  -> fleet, gitcache, identity
//	            everything below -> event (the change feed) and store (SQL)
//
// cmd/axle-hub reads flags into Config and calls New and Run; hub/hubtest does
// the same inside a test.
//
// Invariants: plain HTTP only on loopback unless asked for in so many words; a
// data folder has one process; the hub starts with its upstreams and its
// agents away; it is ready when the indexes are whole, and answers 503 before;
// it stops within 10 s and may be killed at any point.
package hub
