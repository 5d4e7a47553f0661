// Package console is the hub's edge for people and their programs: it answers
// api/hub/v1 by Connect, so that gRPC, gRPC-Web and JSON over POST all work.
//
// It translates messages into calls of the domain parts and back, and has no
// rules of its own. Every call passes one interceptor, which in this order:
//
//   - limits its time: 60 s, or 6 min where the caller waits for a fetch;
//   - waits until this replica is as new as the caller has seen: at most 2 s,
//     and only for known tokens; other callers are told to retry;
//   - authenticates the caller and asks identity whether the call is allowed;
//   - writes the position of the change into the answer.
//
// A position that a person sends never begins a new incarnation. access.go
// has a row for each call: its action, and how its object is found. A call without
// a row is refused, and one whose row finds no object is about the whole hub, so a
// new call cannot be open by mistake. Lists ask
// for the caller's reach (sight). Callers see only the messages of coded
// errors; any other error is logged once, here, and the caller gets "internal
// error".
package console
