// Package ownership knows in memory which service of the cluster has which object, and
// decides whether a service may write one: create it, apply it, adopt it, wait, or leave
// it to its owner. It holds the claims of objects that move between services.
//
// It makes no requests: agent/apply gives it the inventories, the plans and the live
// objects. It gives each service its turn: one pass, heal or drain at a time.
//
// Invariants: the owner of an object is found without scanning services; an inventory
// in the registry is replaced, never changed; judging has no side effects.
package ownership
