// Package drift knows what the cluster looks like now, at no cost while nothing
// happens: one watch for each kind that a service applies, filtered by our
// label, metadata alone where the kind has no health rule (and always for
// Secrets). Every event is reduced at once to a fingerprint of about 200 bytes
// and nothing else is kept.
//
// From the fingerprints it decides for each object whether to heal, to report
// or to leave it (docs/adr/0007-drift-by-hashes.md says how), and asks the
// owner to heal. It writes nothing itself and renders nothing.
//
// What holds: a deleted object is asked for within a second of its event; one
// object is healed at most after 1 s … 5 min of back-off, all objects together
// at most 10 times a second; 5 heals of one object in 10 minutes make it
// Contested, which is then tried every 10 minutes; a watch that is broken or
// not allowed makes its kind unknown, never "no drift", and its objects are
// compared one by one every 10 minutes; a kind whose watch is well is read
// whole about every 2 hours all the same, page by page. Objects that a rule in
// CEL judges are asked about by the hundred, 150 ms after their event; at most
// 4 MiB of them are held, and only until they are judged.
//
//	closed --(Watch names the kind)--> syncing --> synced --(broken)--> unknown
//	unknown --(opened again, or compared)--> synced
package drift
