// Package agentapi is the edge that answers agents. It knows the wire (HTTP
// and api/agent/v1), turns it into calls of the domain parts and their answers
// back, and is where lists are signed.
//
//	GET  /agent/v1/desired            -> desired: etag, list    (memory alone)
//	GET  /agent/v1/tarballs/{digest}  -> desired: may it? gitcache: the bytes
//	POST Register, Renew              -> identity
//	POST Services                     -> fleet: specs with secrets
//	POST Report, Ping                 -> identity: one agent? fleet: store
//
// It decides nothing about services and keeps nothing but two small caches of
// header values and a limit per address.
//
// Invariants: every request is answered from a view at least as new as its
// Axle-Seen, errors included, or with 503 after 2 s; every answer carries
// Axle-Position; a poll that finds nothing is 304, runs no SQL and allocates
// nothing here; a cluster reaches its own services and tarballs alone, and
// those of others do not exist (404); a report's answer means that it is
// committed, and reports of 100 ms share a commit; bodies are bounded
// (64 KiB to register, 8 MiB to report) and so is the time they may take.
package agentapi
