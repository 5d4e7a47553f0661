// Package nodecache keeps tarballs on this replica's disk, by digest.
//
// A tarball is one file whose name holds its digest and the hash of its stored
// bytes, so the folder is its own index: there is nothing else to lose or to
// bring out of step. It knows neither Git nor other replicas; the git cache
// asks it first and fills it.
//
// Invariants: a file appears under its name only when it is complete; a file
// whose bytes are not what its name says is never opened, and one that is
// damaged while it is in use is given out once at most; one digest is built
// by one caller at a time, however many want it; a pinned tarball is not
// evicted; the others go when they were not used for 24 h (and up to 30 min
// more, by digest), or, oldest first, when they exceed the bound.
package nodecache
