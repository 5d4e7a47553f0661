// Package audit makes axle audit and axle events: the log of who did what, with its
// verification and export, and what happened to services.
//
// It does not read or write the files of checkpoints and exports, cli/auditfile
// does. Package cli calls it.
//
// Invariants: audit verify ends with 0 only if the whole chain holds. Events that
// are followed are printed oldest first.
package audit
