// Package gitexec runs the git command: in a clean environment, in a process
// group of its own, with its explanation as the error. The local repositories
// (hub/gitcache/mirror) and the access to servers (hub/gitcache/upstream/git)
// share it; the guard of fetches (hub/gitcache/gitagent) is a Runner.
//
// It opens no connection and knows no repository: the caller gives folder,
// arguments and descriptors.
//
// Invariants: git reads no configuration but the repository's own, and never
// prompts; when the context ends, git and its children are killed within 5 s;
// an error holds at most the last 8 KiB of git's output.
package gitexec
