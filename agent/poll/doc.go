// Package poll is the agent's loop: it asks the hub what the cluster should
// run, finds out which services changed, and brings each of them through one
// pass at a time.
//
// Which file decides whether a service changed: change.go, and nothing else.
//
// A pass is the list of steps in pass.go. What they do lives in agent/tenancy,
// agent/cache, agent/render, agent/apply, agent/drift and agent/health, which do
// not know each other; only this package knows them. It speaks to the hub through Hub, which the
// root package agent makes from agent/hubclient.
//
//	   list ---> changed? --no--> nothing, no request to anybody
//	               |yes
//	queued ---> pass ---> settled (Applied, PruneHeld) ---> queued on change
//	   ^          |---> waiting for health, a dependency, a retry --+
//	   +------------------------------------------------------------+
//
// Invariants:
//   - a poll every 2 min by default, the first at a random moment, failures
//     with full jitter; at most 4 passes at once, one per service;
//   - a hint polls at once, but lists that follow each other come no closer than
//     1 ms for each service that they name (2 s at 2,000; at most 100
//     services never wait);
//   - nothing is done for a service that agent/tenancy gives no permit;
//   - absence never deletes: a service that is missing from the list is held
//     (no apply, no prune, no heal), only a tombstone makes one leave;
//   - any answer but a good one changes nothing;
//   - while the hub's life is one that may have forgotten something, nothing is
//     deleted: hold.go;
//   - what is applied in part is never called applied;
//   - rendering again changes nothing that a template generates: agent/generated;
//   - statuses are sent when they change, within about a second, at most 500 a
//     report, and all of them every 2 h or when the hub lost some: report.go.
package poll
