// Package poll is the agent's loop: it asks the hub what the cluster should run,
// finds out which services changed, and runs one pass at a time for each of them.
//
// The package change alone decides whether a service changed. report sends the
// statuses, content names files and settings, queue orders the passes. Of this package,
// lineage.go says when deletes wait, hint.go collects what watches report, and keep.go
// decides when a cluster keeps what it has although the list says something else.
//
// A pass is the list of steps in pass.go. The steps are implemented in
// agent/tenancy, agent/cache, agent/render, agent/apply, agent/drift and
// agent/health, which do not know each other; only this package knows all of them.
// It calls the hub through Hub, which the root package agent makes from
// agent/hubclient.
//
//	   list ---> changed? --no--> nothing, no request to anybody
//	               |yes
//	queued ---> pass ---> settled (Applied, PruneHeld) ---> queued on change
//	   ^          |---> waiting for health, a dependency, a retry --+
//	   +------------------------------------------------------------+
//
// Invariants:
//   - a poll every 2 min by default, the first at a random moment, retries with full
//     jitter; at most 4 passes at once, one per service;
//   - a hint makes the agent poll at once, but successive lists are at least 1 ms
//     apart for each service that they name (2 s at 2,000; up to 100 services never
//     wait);
//   - nothing is done for a service without a permit of agent/tenancy;
//   - absence never deletes: a service missing from the list is held (no apply, no
//     prune, no heal); only a tombstone removes one;
//   - only a valid answer changes anything;
//   - nothing is deleted while the hub may have lost data, after a restore;
//   - a partial apply is never reported as applied;
//   - rendering again changes nothing that a template generates: agent/generated;
//   - statuses are sent when they change, within about a second, at most 500 a
//     report, and all of them every 2 h or when the hub lost some.
package poll
