// Package tarball writes and reads the archives that carry content from the
// hub to an agent: a tar with sorted names, zero times and zero owners,
// compressed with zstd, in frames of 2 MiB with an index behind them when
// there are several.
//
// The bytes of a tarball depend on the compression library and its level; the
// digest does not. Whoever receives a tarball computes the digest while
// unpacking and compares that.
//
// A delta leads from one content to another for whoever has the first unpacked;
// docs/spec/tarball.md has its format.
//
// It knows nothing of Git or HTTP. The hub's git cache writes tarballs, agents
// unpack them, tests do both.
//
// Invariants: Unpack never creates anything outside its folder, creates only
// folders, files and links that stay inside, and stops at its limits before it
// has written more than they allow; Write refuses what Unpack would refuse.
package tarball
