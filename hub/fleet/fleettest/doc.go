// Package fleettest is a fleet on a real store, for tests: projects, clusters, services
// and their values, with what moves services to new content.
//
// Only what services are made of is replaced: Upstream gives the heads of sources as a
// test wants them, and with NewContended they come from the database, as in the hub.
// Databases come from hub/store/storetest. Callers are the tests of hub/fleet,
// hub/config, hub/fanout, hub/preview, hub/identity and hub/store.
package fleettest
