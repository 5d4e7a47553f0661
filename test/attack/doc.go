// Package attack plays attacks on a hub as processes: each has what its attacker has, goes
// through the public API, and returns what was got by it. `make attack` runs them, against
// a world of its own or against somebody's hub (docs/howto/attack-your-hub.md), and
// TestAttacks one of each class.
//
//	attack.go   Attack, All, and Run, which plays them one after the other
//	play.go     what one attack works with: callers, projects, clusters, what it cleans up
//	bed.go      the world: a hub, an API server with an agent, a front before it
//	operator.go the operator of the world, and namespaces of tenants
//	a1 … c4     the attacks, by class
//
// An attack never expects to succeed. It is at most 60 lines, waits for what settles the
// matter, one way or the other, and its names are its own.
package attack
