// Package kubereq reads a request to a Kubernetes API server without asking
// one: whether its path is what it seems to be (CheckPath), what it wants there
// (Parse), in the words that RBAC and audit use, which of its headers say who
// asks or belong to one hop alone, and whether a name may be asked for
// (CheckIdentity). It also writes our own refusals as such a server would
// (Status), so that kubectl shows them well.
//
// Both ends of the auth proxy call it, each for itself: the hub before it sends
// a request on, the agent before it lets one in. It decides nothing about who
// may do what.
//
// Invariant: a path that CheckPath lets through means the same to everybody who
// reads it: it has no dot segments, no empty segments, no slash or NUL behind
// an escape, and nothing that would be an escape once more after decoding.
package kubereq
