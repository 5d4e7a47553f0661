// Package fleet measures a hub under a played fleet: CPU, memory, bytes and the
// time from a commit until every cluster has its content. `dev bench-fleet` calls
// Measure. The clusters are those of test/scale, played by processes of their own;
// the hubs are those of test/scale/hubproc.
//
//	Measure: repositories -> hubs -> registered clusters -> services -> agents start -> window -> deliveries -> one change for all
//
// Invariants:
//   - what is measured begins when all clusters have their services, and one poll
//     interval later;
//   - a delivery that is missing, a wrong digest and an error of any cluster are
//     counted in the result, so that a number never stands for a broken run.
package fleet
