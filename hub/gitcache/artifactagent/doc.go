// Package artifactagent follows one upstream that is not Git: a chart
// repository, a registry's repository or a bucket. It resolves what each source
// points at now, fetches what changed, verifies it where the source requires
// it, and writes heads. A lease ensures that one agent per repository exists in
// the whole hub. gitagent is its counterpart for Git, with the same life cycle.
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
// 60 s for the others; passes start at least 5 s apart by the database's clock,
// and end when the lease can no longer be proved; content is fetched only when
// its upstream identity changed; a head moves only to content whose digest, and
// signature where one is required, was checked; otherwise it keeps its content
// and reports the error; every digest that a head or a pin names has its own
// file here, so upstream may disappear.
package artifactagent
