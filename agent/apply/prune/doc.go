// Package prune decides whether one object of an inventory may be deleted, and does it:
// delete it, wait for it, leave it alone, or remove our marks from it.
//
// It does not decide when a service is pruned; agent/apply does, and calls it for
// prunes, drains and hooks. Whether pruning is off concerns prunes alone (Stays).
//
// Invariants: it decides by the live object's annotations, never by labels; a delete
// names the uid and the version that the decision was made for; an object that changes
// meanwhile is judged again, at most 3 times.
package prune
