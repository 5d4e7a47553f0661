// Package upstream reads Git repositories for the git cache: it lists the refs
// of a server, fetches objects into a bare mirror, and reads commits, trees and
// blobs from the mirror.
//
// It makes no decisions: the git agent decides when to poll, who may fetch and
// what a source points at. It never writes a tarball.
//
// Refs are listed by a small client of Git's protocol (version 2, or version 0
// for servers that support nothing newer), because git's own ls-remote cannot
// request single prefixes and holds the whole list. Git itself fetches the
// objects, by id, so one listing serves both. Git reaches the network only
// through this process: HTTP through the gateway, which adds credentials and
// terminates TLS, and SSH through a socket to a session that this process
// holds. Every connection goes through one Dialer, which checks the address
// after the name was resolved.
//
// Invariants: git reads no configuration but the mirror's own, never prompts,
// and never has a secret of a repository; a secret is never in an argument, an
// environment variable, a file, or an error; only full hex ids are written to
// cat-file, and the id in each answer is compared with the request; a ref costs
// the bytes of its name and about 35 more in memory, once; a listing ends after
// 2 min, a fetch after 30 min or 1 min of silence; readers wait for maintenance
// only while packs are deleted.
package upstream
