// Package kinds tests the CRDs on a real API server, and generates the pages of
// docs/spec/kinds, docs/spec/writes.md, docs/spec/exceptions.md and the list of
// definitions in the chart. It has only tests; `make generate` runs those that write
// files, with -update.
//
// It does not test programs that act on objects. The tests of the agent and of
// axle apply do that.
package kinds
