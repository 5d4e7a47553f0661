// Package wire is HTTP to the upstreams that are not Git: chart repositories,
// registries, buckets, and the token services of clouds. It adds to Go's
// client what every one of them needs: the dialer's rules, a private authority,
// a client certificate, a proxy, redirects that carry no credentials to
// another host, bounds on size and silence, and errors that say what to do.
//
// It knows no protocol above HTTP and keeps no state but connections. The
// packages beside it call it, and the agent of artifact repositories makes one
// Client per repository.
//
// Invariants: no connection is made to an internal address that
// --allow-upstream-cidrs does not name, nor by a redirect, nor to a literal
// address through a proxy; Authorization goes to the host that it was meant
// for; an answer that is silent for 60 s is given up; no error holds a query
// string, a password or a token.
package wire
