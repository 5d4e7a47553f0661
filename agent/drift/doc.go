// Package drift tracks what the cluster looks like now, at no cost while nothing
// changes. It has one watch for each kind that a service applies, filtered by our
// label. It watches metadata only where the kind has no health rule, and always for
// Secrets. Every event is reduced at once to a fingerprint of about 200 bytes;
// nothing else is kept.
//
// For each object it decides from the fingerprints whether to heal, to report or to
// ignore a difference (see docs/adr/0007-drift-by-hashes.md), and asks the owner to
// heal. It writes nothing itself and renders nothing.
//
// Invariants: a deleted object is requested within a second of its event. One object
// is healed after a back-off of 1 s to 5 min, and all objects together at most 10
// times a second; projects have turns. After 5 heals in 10 minutes an object is Contested and is then
// tried every 10 minutes. A broken or forbidden watch makes its kind unknown, never
// "no drift", and its objects are compared one by one every 10 minutes. A kind with a
// healthy watch is still listed completely about every 2 hours, page by page. Objects
// with a CEL health rule are judged in batches of a hundred, 150 ms after their
// event; at most 4 MiB of them are held, and only until they are judged.
//
//	closed --(Watch names the kind)--> syncing --> synced --(broken)--> unknown
//	unknown --(opened again, or compared)--> synced
package drift
