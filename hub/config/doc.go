// Package config keeps the values of services: what one service alone has, the
// contexts that services share, and the outputs that they import.
//
// Everything with a value in it is a document: bytes that never change, under
// an id, in one of the hub's backends. hub/fleet composes the configuration of
// a service from documents and names them by id; this package knows where each
// lies. It reads what services refer to in backends, tells the fleet when such
// a value or a context changed, moves documents from one backend to another,
// and seals those of the built-in one anew after the hub's key changed.
//
//	Put -> row (not ready) -> backend.Write -> row ready -> named by a service
//	Open -> memory -> row -> backend.Read
//
// It does not decide what wins where two layers have a key, nor what a change
// does to a service: that is the fleet's. Backends other than the built-in one
// are in hub/config/backend. The hub's wiring and the console call it.
//
// Invariants:
//   - No value is in a row, a log line, an error or an event in the clear: rows
//     hold ids, and the built-in backend's rows hold sealed text.
//   - No backend is asked inside a transaction.
//   - A document is deleted from a backend only when nothing names it and it is
//     older than an hour, or after a copy elsewhere was read back and is equal.
//   - A migration can be killed at any point and goes on from its rows.
package config
