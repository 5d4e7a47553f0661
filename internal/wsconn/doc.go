// Package wsconn makes a plain connection of bytes out of a WebSocket, so that
// another protocol can run inside it: Accept is the server's end, Dial the
// client's. Both ends of the agents' tunnel use it, and replicas among
// themselves.
//
// It knows binary frames and nothing more: no extensions, no texts, no
// messages; where a frame ends means nothing. Programs whose messages matter
// need a library for WebSockets instead. Joined lies between it and HTTP/2, and
// makes one write of a message's headers and the beginning of its body; it also
// carries frames of our own beside those of HTTP/2 (internal/unary says which).
//
// Invariants: a Write becomes frames of at most 64 KiB, each in one Write of
// the connection beneath, so that TLS makes one record of it where it can, and
// with Gather beneath TLS in one Write of what lies there; an
// idle connection holds no buffer; a client masks with a random key, as proxies
// expect; a frame that the protocol forbids ends the connection.
package wsconn
