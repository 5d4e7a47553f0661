// Package kubereq parses a request to a Kubernetes API server without calling one. It
// checks that the path is unambiguous (CheckPath) and what the request wants (Parse),
// in the terms of RBAC and audit. It knows which headers name the caller or belong to
// one hop only, and which names may be impersonated (CheckIdentity). It also writes
// our own refusals in the API server's format (Status), so that kubectl shows them
// well.
//
// It also says where an answer may lead a client (Location).
//
// Both ends of the auth proxy call it independently: the hub before it forwards a
// request, the agent before it accepts one. It does not decide who may do what.
//
// Invariant: a path that CheckPath accepts means the same to every program that reads
// it: it has no dot segments, no empty segments, no escaped slash or NUL, and nothing
// that is an escape again after decoding.
package kubereq
