// Package identity knows who calls and what he may do: people and programs
// with API tokens, clusters with agent keys and deploy tokens, and the keys
// that sign what clusters are told.
//
// Every edge asks Authenticate once a request and Authorize once an action;
// there is no other place that decides. It stores through Store, which
// hub/store implements, and knows clusters only by the Clusters interface,
// which hub/fleet implements. It does not speak HTTP and does not know what a
// service is.
//
// Invariants:
//   - A bearer is stored as its SHA-256 and shown once, when it is made.
//   - Authenticate reads memory alone. A revoked token is refused at once by
//     the replica that revoked it and within 5 s by the others, through the
//     change feed. While the database is away, what is known works for 1 h.
//   - Deploy tokens live 24 h; the one before stays good until its successor
//     was used. API tokens live 90 days unless asked otherwise.
//   - Decide reads memory alone as well: people, groups and role bindings follow
//     the same feed. Bindings flow down (hub, project, cluster, service) and
//     only add; a token's scopes cap what they give. One administrator stays.
//   - A bootstrap token gives no tag that it does not allow.
//   - One nonce renews once; requests more than 10 min off are refused.
package identity
