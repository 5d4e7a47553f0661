// Package nodecache keeps tarballs on this replica's disk, by digest.
//
// A tarball is one file whose name holds its digest and the hash of its stored
// bytes, so the folder is its own index, and no second record can be lost or
// become inconsistent. It knows neither Git nor other replicas; the git cache
// reads it first and fills it.
//
// Invariants: a file appears under its name only when it is complete; a file
// whose bytes do not match its name is never opened, and one that is damaged
// while it is in use is served at most once; one caller at a time builds a
// digest, however many want it; a pinned tarball is not evicted; others are
// evicted when they were not used for 24 h (and up to 30 min more, by digest),
// or, oldest first, when they exceed the size limit.
package nodecache
