// Package wire is the HTTP client for upstreams that are not Git: chart
// repositories, registries, buckets, and the token services of clouds. It adds
// to Go's client what all of them need: the dialer's address rules, a private
// certificate authority, a client certificate, a proxy, redirects that carry no
// credentials to another host, limits on size and idle time, and errors that
// say what to do.
//
// It implements nothing above HTTP, and its only state is connections. The
// packages beside it call it, and the agent of artifact repositories makes one
// Client per repository.
//
// Invariants: no connection is made to an internal address that
// --allow-upstream-cidrs does not name, neither by a redirect nor to a literal
// address through a proxy; the Authorization header goes only to the host that
// it was meant for; a response that sends nothing for 60 s is aborted; no error
// holds a query string, a password or a token.
package wire
