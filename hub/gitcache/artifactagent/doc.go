// Package artifactagent is the agent of a repository that is not Git's: a chart
// repository, a registry's repository or a bucket. It asks what each source
// points at now, fetches what changed, verifies it where that was asked for,
// and writes heads. When it does so is repoagent's to say.
//
//	Read: asking upstream --> Evaluate: resolving sources --> fetching, verifying --> heads
//
// It does not decide who owns a repository, it speaks no protocol itself (the
// packages under upstream do), and it does not serve agents (a Sink keeps
// tarballs).
//
// Invariants: polls are 300 s plus 0 to 15 s apart for charts, 120 s plus 0 to
// 60 s for the others; content is fetched only when
// its upstream identity changed; a head moves only to content whose digest, and
// signature where one is required, was checked; otherwise it keeps its content
// and reports the error; every digest that a head or a pin names has its own
// file here, so upstream may disappear.
package artifactagent
