// Package repos makes axle repos and axle webhooks: where files come from, and what
// tells the hub that they changed.
//
// It fetches nothing, the hub does. Package cli calls it.
//
// Invariants: credentials come from files, standard input or environment variables,
// never from an argument. Only one of them may be standard input.
package repos
