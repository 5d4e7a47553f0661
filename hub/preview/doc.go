// Package preview shows what a service would change if it were rendered from
// another source than the declared one: another ref, an earlier revision, or a
// folder of the caller's machine.
//
//	Ask -> content (resolved, kept or sent) -> row, and the service's number of
//	diffs moves -> the agent gets the preview with its spec -> renders and
//	compares as that service -> Answer -> Find
//
// A preview declares, pins and applies nothing. The edges have checked that the
// caller may change the service, so a preview shows no more than a change
// would. The agent decides what may be looked up and compared, by the same
// permit as for a pass. This package does not fetch; Sources does, under the
// limits of all fetches.
//
// Invariants: at most 5 previews of a service and 2,000 of a cluster are open,
// 15 of these with files, and of both a project has a half of what the others leave; files have at most 4 MiB packed, 32 MiB and 10,000 of
// them unpacked; a row is deleted an hour after it was created.
package preview
