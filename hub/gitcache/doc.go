// Package gitcache is the one door to upstream content. It follows
// repositories, knows what each source points at (its head), and gives the
// bytes of a digest to whoever may have them.
//
// It looks for a tarball in three places, in this order: the files on this
// replica's disk (nodecache); the repository's owner (shard), whose git agent
// (gitagent) builds it from a complete mirror; upstream itself, which only the
// git agent touches. The three do not know each other.
//
// Deltas between two tarballs, and tarballs packed with gzip, are made of stored
// ones and have room of their own.
//
// It does not know services or clusters: the store tells it which sources are
// in use and which artifacts are pinned. It does not check who may read a
// digest; its callers (hub/agentapi, hub/console, hub/desired) do.
//
// Invariants: an upstream is asked for its refs every 2 min plus up to 1 min
// at random, by one agent in the whole hub; objects are fetched only when a
// ref in use moved; fetches of a repository start at least 5 s apart and never
// overlap; while an upstream is away heads stay and tarballs are served; a
// head is written only when content or error changed; a pinned tarball is
// never evicted.
package gitcache
