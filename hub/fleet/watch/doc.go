// Package watch tells open streams what changed of the few objects that somebody looks
// at, and gives hints about everything else. hub/fleet/index tells it what changed;
// hub/console/fleetapi sends what it says.
//
//	index -> Changed: mark what streams watch, never wait
//	stream <- Next: at most 4 batches a second, a heartbeat each 15 s
//
// It reads no database: a batch has ids, and the caller reads their rows. What changes
// without a row of the feed, freshness and tunnels, is compared in memory every 5 s while
// at least one stream is open. A hint that is asked for anew is given at once when it was
// due in the last 10 s: a page is read before it asks. Of a list, a stream holds the ids
// that it has, to say which left it; its reader reads the list after the stream began.
//
// Invariants: of an object the last change wins, so a stream holds at most its 1,000
// topics, however slow its reader is, and 10,000 changes of a list; the lists of a replica
// have at most 2,000,000 rows together; a caller has at most 20 streams here, a replica
// 2,000; before each batch the caller's reach is asked for again, and a stream ends within
// 5 s when its token or session ends; a resume token that a batch carries is never ahead
// of what the stream was sent; all streams end when the hub begins to stop.
package watch
