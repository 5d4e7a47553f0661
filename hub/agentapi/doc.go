// Package agentapi is the edge that serves agents. It speaks HTTP and
// api/agent/v1, translates requests into calls of the domain parts, and signs
// lists.
//
//	GET  /agent/v1/desired            -> desired: etag, list    (memory alone)
//	GET  /agent/v1/tarballs/{digest}  -> desired: may it? gitcache: the bytes
//	POST Register, Renew              -> identity
//	POST Services                     -> fleet: specs with secrets
//	POST Report, Ping                 -> identity: one agent? fleet: store
//	POST EnrollChild                  -> clusterapi: a token for a cluster that it made
//
// It makes no decisions about services and keeps only two small caches of
// header values and a rate limit per address.
//
// Invariants: every request is answered from a view at least as new as its
// Axle-Seen, errors included, or with 503 after 2 s; every answer carries
// Axle-Position; a poll that finds nothing is 304, runs no SQL and allocates
// nothing here; a cluster reaches only its own services and tarballs, and gets
// 404 for those of others; a report is answered after it was committed, and the
// reports of 100 ms share a commit; bodies are bounded (64 KiB to register, 8
// MiB to report) and so is the time they may take.
package agentapi
