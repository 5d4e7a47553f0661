// Package pool shares what is bounded among those who use it: Places are held for a while
// (streams, bodies, hashes), Rates are used up and come back with time (logins, dials).
//
// Of each pool one caller gets at most a half of what the others leave, so that there is
// always room for one more; one project, or a stranger's wider network, likewise. The
// reserve is for administrators and the operator. Whoever gets nothing gets an error that
// names the pool, the share and when to try again.
//
// It does not know who a caller is, and what a place is for: its users say that. A Set holds
// the pools of one process, with their metrics.
//
// Invariants: a pool never gives out more than its size; what it remembers of callers is
// bounded by its places, or by RateSpec.Keys; strangers and others are never callers of one
// pool.
package pool
