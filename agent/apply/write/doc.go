// Package write applies single objects for a service with server-side apply: it creates
// without overwriting, takes fields over from other deployers, fills in fields that are
// left to others, recreates where that is allowed, and starts hooks.
//
// It does not order objects and keeps no record of them: agent/apply does, and calls it
// for passes, heals, hooks and diffs.
//
// Invariants: an object that is not ours is not written, unless the service adopts; an
// object whose content did not change is written at most 9 times in 10 minutes; a lost
// race is repeated at most 8 times with full jitter; a wait for a deleted object lasts
// at most 5 s, for a new kind 10 s.
package write
