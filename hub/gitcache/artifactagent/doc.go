// Package artifactagent follows one upstream that is not Git: a chart
// repository, a registry's repository or a bucket. It asks what each source
// points at now, fetches what changed, verifies it where that was asked for,
// and writes heads. One agent exists per repository in the whole hub, which a
// lease makes sure of; it is the sibling of gitagent, with the same life.
//
//	waiting --(poll due, kick)--> asking upstream --> resolving sources
//	   ^                               |                    |
//	   |                               v                    v
//	   +------ writing health <-- unreachable      fetching, verifying
//	   +------------------------- writing heads, health <---+
//
// It does not decide who owns a repository, it speaks no protocol itself (the
// packages under upstream do), and it does not serve agents (a Sink keeps
// tarballs).
//
// Invariants: polls are 300 s plus 0 to 15 s apart for charts, 120 s plus 0 to
// 60 s for the others; passes start at least 5 s apart by the database's word
// and end when the lease can no longer be proved; content is fetched only when
// its upstream identity changed; a head moves only to content whose digest, and
// signature where one is asked for, was checked, and otherwise keeps what it
// had and says why; every digest that a head or a pin names has a file of its
// own here, so that upstream may go away.
package artifactagent
