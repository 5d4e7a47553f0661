// Package desired knows what each cluster should run, in memory, so that an
// agent's poll costs no SQL.
//
// It keeps a small entry per service and per cluster, loaded whole by two
// streaming queries of fleet and then changed by the rows of the change feed. A
// cluster's list is built on request. Only its etag is kept: a hash of the
// list's content, which is dropped when an entry of the cluster changes and
// computed again at the next poll. It is computed from a sum to which each
// entry adds its own hash, so a change costs what changed and not the whole
// list.
//
//	feed row -> Apply: read the entry again, drop the cluster's etag
//	poll     -> ETag: the kept one, or hash the sum
//	         -> For, only when it differs: the list itself
//
// It does not know HTTP or protobuf (hub/agentapi does), does not decide what a
// service runs (hub/fleet does) and keeps no tarballs (hub/gitcache does).
//
// Invariants: no answer before the index is complete; equal entries give equal
// etags on every replica and after every restart, and different lists give
// different etags; a list is never older than the position it carries; a
// deleted service stays in the list as a tombstone until its row goes; a
// cluster that waits for approval has an empty list; a tarball belongs to a
// cluster while it is in the current list or one of the previous 3; ETag
// allocates nothing while nothing changed; a service costs about 250 B.
package desired
