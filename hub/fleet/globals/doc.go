// Package globals runs one service on every cluster that a global service selects.
// A global service is a template with selectors; each selected cluster gets a
// service, its target, that the hub manages.
//
//	Apply, Delete -> the template, and a row that says what is to be compared
//	a cluster registers, changes or loses a service -> such a row for it alone
//	Spread, on one replica -> makes, changes and releases targets, 500 at a time
//
// It decides which clusters are selected and what their targets declare. What a
// service is, and how it gets content, is hub/fleet's; rows are hub/store/globals'.
// hub/console checks access before it calls, and hub runs Spread under a lease.
//
// Invariants:
//   - Targets of a template without Liquid share its specs and revisions: a change
//     writes one of each, and each target's own row. Other targets have their own.
//   - One transaction compares at most 500 clusters, and appends one feed row.
//   - A target that is as its template wants it is not written.
//   - What has to be compared stays in the database until it is done, so a killed
//     process loses nothing. Nothing goes through the fleet on a schedule.
//   - Liquid is rendered outside of transactions, with a bound on what it takes. The
//     transaction looks up what was rendered from exactly what it reads, and begins again
//     if that is not there. What takes too much is a failure of its target, and the same
//     is not tried again.
//   - Projects take turns in slices of about 200 ms of rendering, and a turn ends after
//     about a second although there is more.
//   - A cluster on which a target cannot be made is recorded with the field and the
//     reason. The others do not wait for it, and it keeps what it has.
//   - A global service of a project selects clusters of that project only.
package globals
