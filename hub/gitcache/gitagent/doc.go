// Package gitagent is the agent of a repository whose upstream is Git: it keeps
// a complete bare mirror, fetches when a ref in use moved, and writes what each
// source now points at. When it does so is repoagent's to say.
//
//	Read: listing --(a ref moved)--> fetching
//	         |                          |
//	         v                          v
//	      nothing new                Evaluate: sources, then heads
//
// It does not decide who owns a repository (its caller does, with Lease), it
// does not keep tarballs (a Sink does), and it does not run git itself
// (upstream does).
//
// Invariants: polls are 120 s plus 0 to 60 s apart; every fetch runs under a
// guard that kills it 12 s after the last heartbeat; refs/axle/keep/<commit>
// exists before a head with that commit is written.
package gitagent
