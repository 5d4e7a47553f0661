// Package identitytest is identity on a real store, for tests: a hub with its first
// administrator, further replicas with running feeds, and agents with keys.
//
// Nothing is replaced unless a test asks for it: On takes other stores, and Flaky is
// one that can be made unavailable. Databases come from hub/store/storetest, clusters
// from hub/fleet/fleettest. Callers are the tests of hub/identity and of the packages
// below it.
package identitytest
