// Package gitcachetest is the test suite that every store of the git cache must pass.
//
// It is for tests only and has no store of its own.
package gitcachetest
