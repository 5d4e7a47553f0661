// Package repoagent follows one repository for the time of one lease: it
// schedules passes, asks the store for the right to begin each, lets a Remote
// read its upstream and evaluate the sources, and records how upstream is. Git
// repositories, chart repositories, registries and buckets run under the same
// agent; what differs between them is their Remote.
//
//	waiting --(poll due, kick)--> gate of the host --> reading upstream
//	   ^                               |                     |
//	   |                               v                     v
//	   +------ writing health <-- unreachable         evaluating sources
//	   +------------------------- writing heads, health <----+
//
// Beside the agent are what keeps all agents of a replica polite to one host
// (Gates) and what keeps content that cannot be had from being asked for at
// every look (Retries).
//
// It does not decide who owns a repository (its caller does, with a lease), it
// speaks no protocol (a Remote does), and it keeps no tarballs (a Sink does).
//
// Invariants: two passes of a repository never overlap and start at least Gap
// apart, by the database's word; a pass ends when its lease can no longer be
// proved; a kick is never dropped, several are one, and at most Burst of them
// start passes at once, then one per three gaps; who waits hears of a pass that
// began after the call. While upstream fails only a kick begins a pass before
// the next poll, and a kick that fails does not move that poll. A head is
// written only when its content or its error changed; one that cannot be
// produced keeps its content.
package repoagent
