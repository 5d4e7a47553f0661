// Package console is the hub's edge for people and their programs: it answers
// api/hub/v1 by Connect, so that gRPC, gRPC-Web and JSON over POST all work.
//
// It turns messages into calls of the domain parts and their answers back,
// and holds no rule of its own. Every call passes one interceptor, which in
// this order: bounds its time (60 s; 6 min where the caller waits for a
// fetch), waits until this replica is as new as the caller has seen (at most
// 2 s, and only for tokens that it knows; strangers are told to come back),
// finds out who calls, asks identity whether he may, and writes the position
// of what was done into the answer. What a person claims to have seen never
// begins a new incarnation. What a call does stands in access.go,
// and how the place that it is about is found in where.go. A call that is not in
// the first is refused, one that is not in the second is about the whole hub, so
// a new one cannot be open by mistake. Lists ask for the caller's reach (sight). Only messages of
// coded errors leave; anything else is logged once, here, and is "internal
// error" to the caller.
package console
