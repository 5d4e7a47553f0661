// Package identity authenticates callers and authorizes what they do. It holds
// people and programs with API tokens, clusters with agent keys and deploy
// tokens, and the keys that sign what the hub sends to clusters.
//
// Every edge calls Authenticate once per request and Authorize once per action;
// access is decided nowhere else. It stores through Store, which hub/store
// implements, and knows clusters only by the Clusters interface, which
// hub/fleet implements. It does not speak HTTP and does not know what a service
// is.
//
// Invariants:
//   - A bearer token is stored as its SHA-256 and shown once, when it is
//     created.
//   - Authenticate reads only memory. A revoked token is refused at once by the
//     replica that revoked it and within 5 s by the others, through the change
//     feed. While the database is unavailable, tokens that a replica already
//     knows work for 1 h.
//   - Deploy tokens live 24 h; the previous one stays valid until its successor
//     was used. API tokens live 90 days by default.
//   - Decide reads only memory as well: people, groups and role bindings follow
//     the same feed. Bindings are inherited downwards (hub, project, cluster,
//     service) and only add permissions; a token's scopes limit them. At least
//     one administrator always remains.
//   - A cluster that registers with a bootstrap token gets only tags that the
//     token allows.
//   - A nonce renews only once; requests whose time is more than 10 min off are
//     refused.
package identity
