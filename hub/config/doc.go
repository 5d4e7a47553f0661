// Package config keeps the configuration values of services: values of one
// service, the contexts that services share, and the outputs that they import.
//
// Every value is stored in a document: immutable bytes with an id, in one of
// the hub's backends. hub/fleet composes the configuration of a service from
// documents and refers to them by id; this package knows which backend holds
// each one. It reads the backend values that services refer to, tells the fleet
// when such a value or a context changed, moves documents between backends, and
// reseals the documents of the built-in backend after the hub's key changed.
//
//	Put -> row (not ready) -> backend.Write -> row ready -> named by a service
//	Open -> memory -> row -> backend.Read
//
// It does not decide which layer wins when two have the same key, nor what a
// change does to a service: hub/fleet does. Backends other than the built-in
// one are in hub/config/backend. hub and hub/console call it.
//
// Invariants:
//   - No row, log line, error or event holds a value in the clear: rows hold
//     ids, and the built-in backend's rows hold sealed text.
//   - No backend is called inside a transaction.
//   - A document is deleted from a backend only when nothing refers to it and
//     it is older than an hour, or after its copy in another backend was read
//     back and is equal.
//   - A migration can be killed at any point and resumes from its rows.
package config
