// Package apply makes axle apply, which sends what manifests declare to the hub.
//
// It does not parse manifests, sdk/manifest does. Package cli calls it.
//
// Invariants: an object that fails does not keep the others from being sent, and
// the command fails if one did. Only --prune deletes: what the set manages and the
// files do not declare, never when they declare nothing, and never after a failure. Standard input is read to at most 16 MiB.
package apply
