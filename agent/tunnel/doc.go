// Package tunnel is the agent's end of the one connection that carries the hub's
// requests: the agent dials, and inside the connection HTTP/2 runs with the roles
// reversed, so that the agent serves and the hub calls. hub/tunnel is the other end.
//
//	Run: dial GET <hub>/agent/v1/tunnel, WebSocket over HTTP/1.1
//	  -> http.Server on that one connection
//	       Control    hello, pings, hints, go-away; lives as long as it
//	       POST /stream   one request of somebody; Config.Streams serves it
//	     beside it, frames of internal/unary: one short request each
//	  -> at its end dial anew with full jitter; at a go-away dial first, and let
//	     the streams of the old connection end
//
// It does not know what a stream is for (agent/tunnel/authproxy does) nor what a hint
// causes (agent/poll does); agent wires both. The tunnel only makes things faster: an
// agent whose tunnel is down polls as usual.
//
// Invariants: a stream has a window of 256 KiB and a connection one of 128 MiB, so
// that 450 streams without a reader leave room for the next; a connection is closed
// if nothing arrives for two pings; the streams of the old connection get an hour;
// waits between dials have full jitter and are at most a minute.
package tunnel
