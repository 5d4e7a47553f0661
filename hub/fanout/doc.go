// Package fanout brings one change to many clusters, in waves. It is a general
// engine: what is rolled out, on which clusters, and how a cluster is judged,
// is a Subject's. The agents' own upgrade (agents.go) is the first one.
//
//	Start -> wave 1: place on some clusters -> judge their reports
//	      -> all well for the soak time -> wave 2 … -> Done
//	      -> too many failed -> Stopped, until a person resumes or aborts
//
// It decides which cluster gets what when, and stores that through Store. It
// does not know how a version reaches a cluster or what an agent does with it,
// and it speaks to no cluster: reports come by fleet. One replica at a time
// runs it; a second one that still thinks it may does no harm, since each step
// reads its rows again inside the transaction that changes them.
//
// Invariants: at most 500 clusters are placed in one transaction; a wave
// begins after every cluster of those before it was well, without a break, for
// 15 min, or failed, or is away; more than 5 % failed stops it; a cluster
// counts as failed when its agent says so, or when it is not well 10 min after
// it was placed; a cluster that runs the version already is not touched; a
// pause places nothing and an abort goes back to the version before, in chunks
// as well; one rollout of a subject is under way at a time.
package fanout
