// Package git talks to Git servers: it lists their refs, and has git fetch
// objects and LFS files into a local repository, over HTTPS and SSH, with the
// repository's credentials, GitHub App, certificates and proxy.
//
// It makes no decisions: the git agent (hub/gitcache/gitagent) decides when to
// list and what to fetch. It does not know how the local repository is stored:
// a Repository of three methods receives what it fetches. hub/gitcache checks
// URLs and credentials with it.
//
// Refs are listed by a small client of Git's protocol (version 2, or version 0
// for servers that support nothing newer), because git's own ls-remote cannot
// request single prefixes and holds the whole list. Git itself fetches the
// objects, by id, so one listing serves both. Git reaches the network only
// through this process: HTTP through the gateway, which adds credentials and
// terminates TLS, and SSH through a socket to a session that this process
// holds. Every connection goes through one upstream.Dialer.
//
// Invariants: git never has a secret of a repository, and a secret is never in
// an argument, an environment variable, a file, or an error; credentials go to
// the repository's own server only; a listing has at most 2,000,000 refs and
// 256 MiB; a listing ends after 2 min, a fetch after 30 min or 1 min of
// silence.
package git
