// Package gitcache is the hub's only access to upstream content. It follows
// repositories, knows what each source points at (its head), and serves the
// bytes of a digest.
//
// It looks for a tarball on three levels, in this order: the files on this
// replica's disk (nodecache); the repository's owner (shard), whose git agent
// (gitagent) builds it from a complete mirror; upstream itself, which only the
// git agent contacts. The three packages do not know each other.
//
// Deltas between two tarballs, and tarballs packed with gzip, are derived from
// stored tarballs and have a separate size limit.
//
// It does not know services or clusters: the store tells it which sources are
// in use and which artifacts are pinned. It does not authorize: its callers
// (hub/agentapi, hub/console, hub/desired) check who may read a digest.
//
// Invariants: one agent in the whole hub lists an upstream's refs, every 2 min
// plus up to 1 min at random; objects are fetched only when a ref in use moved;
// fetches of a repository start at least 5 s apart and never overlap; while an
// upstream is unreachable, heads stay and tarballs are served; a head is
// written only when content or error changed; a pinned tarball is never
// evicted.
package gitcache
