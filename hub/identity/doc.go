// Package identity authenticates callers and authorizes what they do. It holds
// users, service accounts, groups, role bindings and API tokens, and the index
// of all tokens of the hub.
//
// Every edge calls Authenticate once per request and Authorize once per action;
// access is decided nowhere else. How people log in is in account below it, how
// agents get their tokens in agentkey, tokens of other issuers in federation.
// These three import this package, never the other way round; they issue and
// end tokens through Credentials, which no edge has. It stores through Stores,
// which hub/store/accounts fills. It does not speak HTTP and does not know what
// a service is.
//
// Invariants:
//   - A bearer token is stored as its SHA-256 and shown once, when it is
//     created.
//   - Authenticate reads only memory. A revoked token is refused at once by the
//     replica that revoked it and within 5 s by the others, through the change
//     feed. While the database is unavailable, tokens that a replica already
//     knows work for 1 h.
//   - API tokens live 90 days by default. A deploy token stays valid until its
//     successor was used.
//   - Decide reads only memory as well: people, groups and role bindings follow
//     the same feed. Bindings are inherited downwards (hub, project, cluster,
//     service) and only add permissions; a token's scopes limit them. At least
//     one administrator always remains.
package identity
