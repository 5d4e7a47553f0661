// Package operations applies one action (sync, pause, resume, rollback) to many
// services. An operation is stored with its targets before anything happens, and
// one replica at a time works it off, so that it goes on when the browser or the
// replica that began it is gone.
//
// It does not say who may do what, and changes no service by itself: it asks the
// hub's gate about each target as the person who began, at the time when the
// target's turn comes, and calls hub/fleet. hub/console/operationsapi starts,
// lists and cancels operations; the hub runs Run on the replica with the lease.
//
// Invariants:
//   - A target changes in the transaction that changes its service, from Waiting
//     to an end, once. A process that is killed repeats nothing and loses nothing.
//   - An operation has at most 20,000 targets, a person at most 5 that run.
//   - A person whose token, account or right was taken away changes nothing more:
//     the targets that wait then fail with that reason.
//   - Running costs in proportion to what waits: nothing is polled, the feed wakes
//     it. Operations are kept for 30 days after their end.
package operations
