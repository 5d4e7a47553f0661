// Package cache is what the agent keeps on disk: unpacked trees by digest, the specs
// of its services, and the last list that the hub signed. With it an agent keeps
// working while the hub is unavailable, also after a restart.
//
// A missing tree arrives as a delta from the service's previous tree, as the rest of
// an interrupted download, or as a whole download.
//
// The package makes no requests: the caller passes a fetch function. agent/poll is
// that caller, and tells which trees and specs are still needed.
//
// Invariants:
//   - for every tree that Tree returns, the digest was computed from the files on
//     disk after unpacking; a truncated, damaged or foreign download never becomes a
//     tree;
//   - once per service and 2 h (12 h above 10 MB of tarball) the whole tarball is
//     downloaded without any condition, at a moment derived from the service's id,
//     and the unpacked copy is read and hashed again every 2 h;
//   - specs hold secret values, so they are sealed with AES-GCM under a key that is
//     stored elsewhere; trees are plain;
//   - a spec that differs from the stored one only by a requested sync or diff is not
//     written again: asked.go;
//   - every file is written under a temporary name and renamed, so a kill at any
//     point leaves the old or the new file; a full disk leaves the old one.
//     point leaves the old or the new; a full disk leaves the old.
//
// On disk:
//
//	cache/<hex of digest>/        an unpacked tree
//	cache/<hex of digest>.json    its sizes; a tree without it is not one
//	specs/<service id>            a sealed spec
//	asked                         sealed lines: what people ask of services, beside
//	                              the specs that it changes
//	partial/<hex of digest>       what is left of a download of 1 MiB or more that
//	                              was cut, with its ETag beside; for a day at most
//	list.json                     the last signed list and what was seen with it
//	applied.json                  the revisions that go with what is applied
//	refreshed.json                when each service was last downloaded whole
package cache
