// Package audit is the hub's record of who did what: every write, and every
// call that somebody makes to a cluster through the hub.
//
// Edges tell the Log, which gathers records of all callers for a moment and
// writes them in one transaction at the end of one chain of the whole hub
// (internal/hashchain), whichever replica writes:
//
//	console, auth proxy, login -- Add, AddNow --> Log -- batch --> Store
//	                                               |
//	              Run: signed checkpoints, retention, export
//
// Add returns at once; AddNow returns when the record is durable, for callers
// that would rather not act than act unseen. Who must not enter: secrets.
// Whoever makes a Record masks them first; the Log only bounds its size.
//
// It stores nothing itself (hub/store implements Store), signs nothing itself
// (hub/identity does), and knows no RPC.
//
// Invariants: at most 4,096 records or 16 MiB wait, of which Add's wait
// 100 ms; what did not fit is counted and said by a record of its own; a row is
// never changed; rows older than the retention (30 days) by their own records
// and by a checkpoint of that time are dropped from the oldest on, behind a
// signed cut; a checkpoint of the present end is at most 5 min old, and signed
// only if the chain goes on from the one before: nothing that stands in the
// database alone is believed.
package audit
