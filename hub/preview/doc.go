// Package preview answers what a service would change if it were made of
// something else than what is declared: another ref, an earlier revision, or a
// folder of the caller's machine.
//
//	Ask -> content (resolved, kept or sent) -> row, and the service's number of
//	diffs moves -> the agent gets the preview with its spec -> renders and
//	compares as that service -> Answer -> Find
//
// Nothing of it is declared, pinned or applied. The edges have checked that the
// caller may change the service: what a preview shows is not more than what a
// change would. The agent decides what may be looked up and touched, by the
// same permit as for a pass. It does not fetch; Sources does, at the gate that
// all fetches pass.
//
// Invariants: at most 5 previews of a service and 1,000 of a cluster are open,
// 8 of these with files; files have at most 4 MiB packed, 32 MiB and 10,000 of
// them unpacked; a row is dropped an hour after it was made.
package preview
