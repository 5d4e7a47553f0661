// Package cache is what the agent keeps on disk: unpacked trees by digest, the
// specs of its services, and the last list that the hub signed. With it an
// agent works on while the hub is away, also after a restart.
//
// What it lacks comes as a delta from what the service had before, as the rest
// of a download that was cut, or whole.
//
// It asks nobody by itself: a caller hands it a way to fetch. agent/poll is
// that caller, and says which trees and specs are still needed.
//
// Invariants:
//   - a tree that Tree returns had its digest computed from what is on disk
//     after it was unpacked; a download that is cut, damaged or somebody else's
//     never becomes a tree;
//   - once per service and 2 h (12 h above 10 MB of tarball) the whole tarball
//     is downloaded without any condition, at a moment that the service's id
//     chooses, and the unpacked copy is read and hashed again every 2 h;
//   - specs, which hold secret values, are sealed with AES-GCM under a key that
//     does not lie beside them; trees are plain;
//   - a spec that differs from the stored one by a sync or a diff that somebody
//     asks for is not written again: asked.go;
//   - every file is written beside its place and renamed, so a kill at any
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
