// Package content names a service's files and settings: which tarballs it has, what its
// revision is called, and whether two of them are the same. It brings the files onto the
// disk by agent/cache.
//
// It decides nothing: agent/poll/change says what a difference means.
//
// Invariants: people's requests are no part of the settings; the data of a cluster and
// the windows are no part of a revision, for which hooks run once.
package content
