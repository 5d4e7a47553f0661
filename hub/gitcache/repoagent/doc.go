// Package repoagent follows one repository for the duration of one lease. It
// schedules passes, asks the store for permission to begin each one, lets a Remote
// read its upstream and evaluate the sources, and records the upstream's health. Git
// repositories, chart repositories, registries and buckets share this agent; their
// Remotes contain what differs.
//
//	waiting --(poll due, kick)--> gate of the host --> reading upstream
//	   ^                               |                     |
//	   |                               v                     v
//	   +------ writing health <-- unreachable         evaluating sources
//	   +------------------------- writing heads, health <----+
//
// The package also contains Gates, which limit how all agents of a replica use one
// host, and Retries, which delay requests for content that could not be fetched.
//
// It does not decide which replica owns a repository (the caller does, with a lease),
// it speaks no protocol (a Remote does), and it stores no tarballs (a Sink does).
// Package gitcache runs one agent for each repository that its replica owns.
//
// Invariants: two passes of a repository never overlap, and they start at least Gap
// apart according to the database; a pass ends when its lease can no longer be
// proved; a kick is never dropped, several kicks are merged into one, and at most
// Burst of them start passes at once, then one per three gaps; a caller that waits
// gets the error of a pass that began after the call. While upstream fails, only a
// kick begins a pass before the next poll, and a kick that fails does not move that
// poll. A head is written only when its content or its error changed, and a source
// that cannot be produced keeps its content.
package repoagent
