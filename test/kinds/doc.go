// Package kinds makes the pages of the kinds and of the calls that they stand for, which
// `make pages` writes, and tests the CRDs on a real API server. `make generate` runs
// the test of the chart's list of definitions with -update.
//
// It does not test programs that act on objects. The tests of the agent and of
// axle apply do that.
package kinds
