// Package seed starts a hub and fills its store through the normal API and the
// agents' protocol, for those who work on the hub, the CLI or the console:
// `dev seed` and tests call Fill. The clusters are simulated (test/scale). It does
// not measure.
//
//	Fill (hub, Git server, clusters, services) ---> Run (clusters poll) ---> Close
//
// Invariants:
//   - the store holds nothing that the API did not write;
//   - a folder that a hub used before is refused;
//   - after an error nothing keeps running.
package seed
