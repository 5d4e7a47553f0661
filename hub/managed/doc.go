// Package managed decides who may write a declared object of the hub, such as a
// service or a repository: each has one manager, and another's write is a Conflict
// unless it takes the object over.
//
// It stores nothing, and it does not decide who has the right to write: access is
// checked before, and what a caller says about itself is not proof. The domain calls
// it in the transaction of a write, on the row that it read there. hub/console says
// who calls.
//
// Invariants: the people with the CLI and the console are one manager. Code of the
// hub that is not about a request changes no manager. Only the hub writes what the
// hub manages. An id has at most 500 bytes.
package managed
