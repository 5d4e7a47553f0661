// Package fanout brings one change to many clusters, in waves. It is a general
// engine: a Subject defines what is rolled out, on which clusters, and how a
// cluster is judged. The agents' own upgrade (agents.go) is the first Subject.
//
//	Start -> wave 1: place on some clusters -> judge their reports
//	      -> all well for the soak time -> wave 2 … -> Done
//	      -> too many failed -> Stopped, until a person resumes or aborts
//
// It decides which cluster gets which version when, and stores that through
// RolloutStore. It does not know how a version reaches a cluster or what an agent does
// with it, and it talks to no cluster: reports come through hub/fleet. One
// replica at a time runs it. A second replica that still believes it holds the
// lease does no harm, because each step reads its rows again inside the
// transaction that changes them.
//
// Invariants: at most 500 clusters are placed in one transaction; a wave begins
// after every cluster of the previous waves was healthy without a break for 15
// min, or failed, or is unreachable; more than 5 % failed stops it, of which one project's
// count as far as other projects confirm them (witnesses.go); a cluster
// counts as failed when its agent says so, or when it is not healthy 10 min
// after it was placed; a cluster that already runs the version is not touched;
// a paused rollout places nothing; an abort goes back to the previous version,
// in chunks as well; one rollout of a subject runs at a time.
package fanout
