// Package upstream holds the rule that all access to upstreams shares: which
// addresses the hub may connect to. What speaks to one kind of server lives in
// the folders below, of which git is the one for Git servers.
//
// It does not read content, and it knows no credentials. The readers below, the
// artifact agent, and the hub's login and federation use its Dialer.
//
// Invariants: each address is checked after its name was resolved and before
// the connection opens, so no name and no second DNS answer leads into the
// hub's own network; connecting takes at most 15 s.
package upstream
