// Package gitcachetest holds the store of the git cache in memory, with
// faults, and the suite that every store of it passes.
//
// It is for tests only. Memory keeps no promise of durability; everything else
// that gitcache.Store says, it does.
package gitcachetest
