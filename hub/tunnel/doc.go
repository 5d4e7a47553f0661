// Package tunnel is the hub's end of the tunnel: the one connection that each
// agent dials and over which the hub sends requests. agent/tunnel is the other
// end and documents how the connection works.
//
//	agent --GET /agent/v1/tunnel--> ServeHTTP: token, upgrade, HTTP/2 as client
//	                                  |-> Control: hello, pings, hints, go-away
//	edge  --Open(cluster, head)--> connection here   -> a stream of its own,
//	                            |                       or a frame each way
//	                            `> connection there  -> the replica that has it,
//	                                                    by a signed peer call
//	feed  --Apply--> token gone: close; desired list changed: hint
//
// It does not interpret a stream's content (hub/tunnel/authproxy does), does
// not authorize (its callers ask hub/identity), and stores nothing: replicas
// tell each other the state of tunnels.
//
// Invariants: new streams of a cluster use only its newest connection; at most
// 450 streams per cluster and 20,000 per replica, and 450 × 256 KiB of stream
// windows stay below the connection's window of 128 MiB, so streams that are
// not read cannot block others; a stream whose client reads nothing for 30 s
// while bytes wait is closed; a dead connection is found within 65 s when idle
// and within 10 s when a request waits; a tunnel whose deploy token was revoked
// is closed within 5 s.
package tunnel
