// Package audit is the hub's audit log. It records every write, and every call
// that a user makes to a cluster through the hub.
//
// Edges pass records to the Log. It batches the records of all callers for a
// moment and appends them in one transaction. All replicas append to the same
// hash chain (internal/hashchain):
//
//	console, auth proxy, login -- Add, AddNow --> Log -- batch --> Chain
//	                                               |
//	              Run: signed checkpoints, retention, export
//
// Add returns at once. AddNow returns when the record is durable, for callers
// that must not act without a record. Records must not contain secrets: the
// caller masks them first, and the Log only limits the size.
//
// It stores nothing itself (hub/store implements Chain, Checkpoints and Cursors), signs nothing itself
// (hub/identity does), and depends on no RPC protocol.
//
// Invariants: at most 4,096 records or 16 MiB wait, those of Add for 100 ms;
// records that did not fit are counted, and a separate record states how many;
// a row is never changed; rows are dropped, oldest first and behind a signed
// cut, when both their own times and a checkpoint of that time are older than
// the retention (30 days); the checkpoint of the current end is at most 5 min
// old, and is signed only if the chain continues from the previous one: the
// database alone is never trusted.
package audit
