// Package wsconn turns a WebSocket into a plain byte connection, so that another
// protocol can run inside it: Accept is the server's end, Dial the client's. Both
// ends of the agents' tunnel use it, and replicas among each other.
//
// It supports only binary frames: no extensions, texts or messages. Frame boundaries
// mean nothing. Programs that exchange messages need a WebSocket library instead.
// Joined sits between the connection and HTTP/2. It merges a message's headers and
// the beginning of its body into one write, and carries our own frames beside those
// of HTTP/2 (see internal/unary).
//
// Invariants: a Write becomes frames of at most 64 KiB, each in one Write to the
// underlying connection, so that TLS makes one record of it where it can; with Gather
// beneath TLS, what has gathered there leaves in one Write. An idle connection holds
// no buffer. A client masks with a random key, as proxies expect. A frame that the
// protocol forbids ends the connection.
package wsconn
