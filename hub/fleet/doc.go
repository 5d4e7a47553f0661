// Package fleet is what runs where: projects, clusters, the services declared
// on them, their revisions, and what agents report back.
//
// It decides whether a service changed: head.go turns a moved head into a
// revision, spec_digest.go names what goes with it. It stores through Store,
// which hub/store implements, and knows upstreams only by the Sources
// interface. Edges authorise the caller before they call; fleet itself trusts
// them. hub/desired keeps the list of each cluster from its rows.
//
// Invariants:
//   - Every change is one transaction with its revision, its event and its
//     feed row; repeating a call changes nothing more.
//   - A service keeps its last 20 revisions, its present one always.
//   - A service leaves a cluster by a tombstone only. The row goes when the
//     agent reports the tombstone drained, or when no agent ever registered.
//   - A rollback pins the service until it is resumed; heads do not move it.
//   - Secret values are stored sealed, apart from the spec, and read back as
//     keys alone.
//   - Freshness is the age of a cluster's last poll, kept in memory: Stale
//     after 3 poll intervals, Unknown for one interval after the hub's start.
package fleet
