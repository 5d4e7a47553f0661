// Package upstream reads Git repositories for the git cache: it lists the refs
// of a server, fetches objects into a bare mirror, and reads commits, trees
// and blobs out of that.
//
// It decides nothing: when to poll, who may fetch and what a source points at
// is the git agent's business, and it never writes a tarball.
//
// Refs are listed by a small client of Git's protocol (version 2, and 0 where
// a server knows no better), because git's own ls-remote cannot ask for single
// prefixes and keeps the list; objects are fetched by git itself, by id, so one
// listing serves both. Git gets no way out but through this process: HTTP by
// the gateway, which adds credentials and speaks TLS, SSH by a socket to a
// session that is held here. Every connection goes through one Dialer, which
// looks at the address after the name was resolved.
//
// Invariants: git sees no configuration but the mirror's own, asks nobody
// anything, and never has a secret of a repository; a secret is never in an
// argument, an environment variable, a file, or an error; only full hex ids
// are written to cat-file, and each answer's id is compared with the question;
// a ref costs its name's bytes and about 35 more in memory, once; a listing
// ends after 2 min, a fetch after 30 min or 1 min of silence; readers wait for
// upkeep only while packs are deleted.
package upstream
