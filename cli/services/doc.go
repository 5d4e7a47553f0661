// Package services makes axle services and axle diff: creating and changing
// services, their state, objects, tests and revisions, and what an apply would
// change.
//
// It does not judge a spec, the hub does, and applies nothing, the agent does. Diffs
// are written by cli/diffview, chart values are read by cli/chartvalues. Package cli
// calls it.
//
// Invariants: an update sends only the fields whose flags were given. Whoever waits
// gets 0 only if every service is ready, and otherwise reads what is missing. Diffs
// have the exit codes of kubectl diff.
package services
