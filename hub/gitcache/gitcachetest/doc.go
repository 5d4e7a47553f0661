// Package gitcachetest holds an in-memory store of the git cache that can
// inject faults, and the test suite that every store of the cache must pass.
//
// It is for tests only. Memory is not durable; otherwise it keeps every promise
// of gitcache.Store.
package gitcachetest
