// Package tunnel is the hub's end of the one connection that each agent dials
// and along which the hub asks. agent/tunnel is the other end and says how the
// connection works inside.
//
//	agent --GET /agent/v1/tunnel--> ServeHTTP: token, upgrade, HTTP/2 as client
//	                                  |-> Control: hello, pings, hints, go-away
//	edge  --Open(cluster, head)--> connection here   -> a stream of its own,
//	                            |                       or a frame each way
//	                            `> connection there  -> the replica that has it,
//	                                                    by a signed peer call
//	feed  --Apply--> token gone: close; desired list changed: hint
//
// It does not know what a stream asks for (hub/tunnel/authproxy does), decides
// nothing about who may (its callers ask hub/identity), and stores nothing: a
// tunnel's state is what the replicas tell each other.
//
// Invariants: one connection per cluster takes new streams, the newest; at most
// 450 streams per cluster and 20,000 per replica, and 450 × 256 KiB of stream
// windows stay below the connection's window of 128 MiB, so that streams which
// nobody reads cannot stop another; a stream whose client reads nothing for
// 30 s while bytes wait is closed; a dead connection is found within 65 s when
// idle and within 10 s when a request waits; a tunnel whose deploy token was
// revoked is closed within 5 s.
package tunnel
