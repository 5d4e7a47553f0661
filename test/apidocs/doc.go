// Package apidocs makes the pages of the hub's API, which `make pages` writes, from the
// definitions in api/hub/v1, the actions in hub/console/access.go and the examples in
// examples.txt. Its tests also compare the table of docs/metrics.md with what a hub exports;
// `make generate` runs that one with -update.
//
// TestExamples runs the curl commands of the pages as a shell would, and the same
// requests as gRPC, against a real hub, and compares the answers. It does not test what
// the calls do: the tests of hub/console do that.
//
// Invariants: every call has one example; each Go example compiles; a call whose
// example only reads is answered the same in both protocols.
package apidocs
