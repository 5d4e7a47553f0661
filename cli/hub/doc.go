// Package hub makes axle hub: its status, draining a replica, the signing key, sync
// windows of all services, support bundles, and the confirmation after a restore.
//
// It changes nothing about services or clusters. Package cli calls it.
//
// Invariants: each command is one call to the hub, except drain, which then waits
// and leaves the drain in place when its time is over.
package hub
