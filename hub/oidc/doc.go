// Package oidc is the hub's OpenID provider: applications let people in by it, with the
// hub's own login, its groups and second factors. It is built on zitadel/oidc's op, which
// carries out the grants at the token endpoint; authorization, consent, keys and what is
// stored are here.
//
// It does not know where clients come from: hub gives it Clients. hub/login checks who a
// browser belongs to and draws the pages, hub/identity knows people and groups, and
// hub/store/signins stores.
//
// Invariants:
//   - The issuer and its keys are used for nothing else. Private halves are sealed in the
//     database and never leave this package; a key is published a day before it signs.
//   - One function, gate, decides whether a person may log in to a client; it is asked at
//     the login and for each token that is issued or used.
//   - Codes, access tokens and refresh tokens are rows by hash. A code works once over all
//     replicas. A refresh token is replaced when it is used; a second use ends the grant, but
//     for one within seconds, which gets the same answer again.
//   - Nothing is stored for a login that has not succeeded.
//   - Redirect URIs are compared byte by byte; only the port of a public client's loopback
//     address is free. PKCE is S256, and required of public clients.
//   - A grant whose person may no longer log in ends within 10 s on all replicas, and the
//     application is notified.
package oidc
