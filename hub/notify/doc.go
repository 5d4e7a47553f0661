// Package notify tells people of events: routers say which events go to which sinks,
// and sinks are chats, any URL that accepts JSON, or Axle itself.
//
// The event log is the outbox. An event is written in the transaction that makes it,
// and numbered in the order of commits; a cursor says which ones were looked at. Where
// no router is, nothing is read and nothing is written. Otherwise the replica that holds
// the lease reads the new events, adds each to the message of its sink and topic, and
// moves the cursor, in one transaction. A message is sent when it is due.
//
// It renders nothing (hub/notify/send does), and it does not decide who may change sinks
// and routers (hub/console does). hub/store/notifications keeps the rows.
//
// Invariants:
//   - A router of a project gets only events of clusters and services of that project.
//   - Events of one cause, such as a commit, are one message: it is sent 10 s after the
//     first one, the next message of the same cause 1 min later, and what was told of an
//     object is not told again for 5 min; then the last state is told, with the number of
//     changes. A turn that makes more than 5 messages of one kind for a sink makes one.
//   - A message names 10 objects and counts the others.
//   - A message is tried 8 times within about an hour, each time for at most 10 s. A hub
//     that is killed sends at most one message twice, with the same id.
//   - A sink has at most 1,000 waiting messages; the oldest are dropped and counted.
//   - What waits when a hub is restored is dropped and counted.
//   - The routers of a project take at most their share of a turn, and one event more.
//     What is left, they look at in later turns, from a cursor of their own; nothing is
//     lost, and the routers of others do not wait.
//   - A hub has 500 sinks and 500 routers, a project 50 of each; a router has 20 filters.
//   - A URL is sealed, and shown nowhere: only its host is. A signing key does not follow
//     a changed URL.
package notify
