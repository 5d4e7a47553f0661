// Package mirror is the complete bare copy of a Git repository on this disk: its
// refs, its commits, trees and blobs, its upkeep and its repair. A Reader finds
// in a commit the closure of a folder: the smallest set of trees and files that
// renders like the whole.
//
// It knows no network and makes no decisions: hub/gitcache/upstream/git fetches
// into it, and the git agent (hub/gitcache/gitagent) decides when to fetch, what
// to keep and what a source points at. It never writes a tarball. Package
// repack, below, repacks a whole mirror while it is in use.
//
// Invariants: only full hex ids are written to cat-file, and the id in each
// answer is compared with the request; each object's bytes are compared with
// its id; a ref costs the bytes of its name and about 35 more in memory, once;
// a kept commit stays whatever upstream does; readers wait for maintenance only
// while packs are deleted.
package mirror
