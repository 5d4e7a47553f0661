// Package fleet holds what runs where: projects, clusters, the services
// declared on them, their revisions, and the statuses that agents report.
//
// It decides whether a service changed: head.go turns a moved head into a
// revision, spec_digest.go hashes everything else of the service. It stores
// through the interfaces of Store, which hub/store implements, and knows upstreams only by the
// Sources interface. Edges authorise the caller before they call; fleet itself
// trusts them. hub/desired builds the list of each cluster from its rows.
//
// Invariants:
//   - Every change is one transaction with its revision, its event and its feed
//     row; repeating a call changes nothing more.
//   - A service keeps its last 20 revisions, and always its current one.
//   - A service leaves a cluster only through a tombstone. Its row is deleted
//     when the agent reports the tombstone drained, or when no agent ever
//     registered.
//   - A rollback pins the service until it is resumed; heads do not move it.
//   - Secret values are stored sealed, apart from the spec, and only their keys
//     can be read back.
//   - Freshness is the age of a cluster's last poll, kept in memory: Stale
//     after 3 poll intervals, Unknown for one interval after the hub's start.
package fleet
