package tunnel

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/api/agent/v1/agentv1connect"
	"github.com/axle-cd/axle/internal/boundedcall"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/pool"
)

// Flow control of both ends; see agent/tunnel.
const (
	streamWindow     = 256 << 10
	connectionWindow = 128 << 20
	// frameBytes is the largest frame that the other end may send.
	frameBytes = 64 << 10
	// headerTable disables HPACK's dynamic tables, 1 being the smallest size
	// that can be set: the heads of streams are outside of headers, hints are
	// rare, and the tables would take 4 KiB of each idle connection.
	headerTable = 1
	// host is the host of every request; it is never resolved.
	host = "http://tunnel"
)

// connection is HTTP/2 over an agent's connection, as client.
type connection struct {
	cc    *http.ClientConn
	raw   *heardConn
	agent agentv1connect.TunnelServiceClient

	clusterID, clusterName, tokenID string
	remote                          string
	since                           time.Time
	endsAt                          time.Time
	proxy, version                  string
	// inline is set when the agent accepts heads in headers.
	inline bool
	// readiness is set when the agent answers a ReadinessQuestion, credential when it answers
	// a CredentialQuestion, observe an ObserveQuestion; another one would take it for a request
	// to its API server.
	readiness, credential, observe bool
	// pending are the requests of one frame; nil when the agent does not support
	// them.
	pending *pendingRequests
	// places are for its streams.
	places *pool.Places

	// Tunnels.mu guards the following fields.
	streams  int
	draining bool
	closeAt  time.Time // of a draining one
	retireAt time.Time // of one whose token was replaced; zero for others
	doubted  bool      // a ping is running
}

// cannot is the question of a head that the agent does not answer yet, empty if there is none.
func (c *connection) cannot(head *agentv1.StreamHead) string {
	switch {
	case head.GetReadiness() != nil && !c.readiness:
		return "readiness"
	case head.GetCredential() != nil && !c.credential:
		return "credentials of clusters"
	case head.GetObserve() != nil && !c.observe:
		return "metrics, logs and alerts"
	}
	return ""
}

// heardConn records when data last arrived and signals its end.
type heardConn struct {
	net.Conn
	heard   atomic.Int64 // nanoseconds since 1970
	once    sync.Once
	ended   func()
	pending *pendingRequests // requests that end with it; nil between replicas
}

// Read implements net.Conn.
func (c *heardConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.heard.Store(time.Now().UnixNano())
	}
	if err != nil && c.pending != nil {
		c.pending.end()
	}
	return n, err
}

// Close implements net.Conn.
func (c *heardConn) Close() error {
	c.once.Do(func() {
		if c.ended != nil {
			go c.ended()
		}
	})
	return c.Conn.Close()
}

// dialedKey is the context key of the connection that a transport "dials".
type dialedKey struct{}

// newTransport returns a transport that makes HTTP/2 clients of connections.
func newTransport(pingAfter, answerWithin time.Duration) *http.Transport {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	return &http.Transport{
		Protocols: &protocols,
		HTTP2: &http.HTTP2Config{
			MaxReadFrameSize: frameBytes, MaxReceiveBufferPerStream: streamWindow, MaxReceiveBufferPerConnection: connectionWindow,
			MaxDecoderHeaderTableSize: headerTable, MaxEncoderHeaderTableSize: headerTable,
			SendPingTimeout: pingAfter, PingTimeout: answerWithin,
		},
		DisableCompression: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return ctx.Value(dialedKey{}).(net.Conn), nil
		},
	}
}

// client makes an HTTP/2 client of a connection.
func client(ctx context.Context, t *http.Transport, conn net.Conn) (*http.ClientConn, error) {
	cc, err := t.NewClientConn(context.WithValue(ctx, dialedKey{}, conn), "http", "tunnel:80")
	if err != nil {
		conn.Close()
		return nil, errcode.New(errcode.Unavailable, "the connection ended at once: %w", err)
	}
	return cc, nil
}

// caller is a connection as Connect's client.
type caller struct{ *http.ClientConn }

// Do implements connect.HTTPClient.
func (c caller) Do(r *http.Request) (*http.Response, error) { return c.RoundTrip(r) }

func controlOf(cc *http.ClientConn) agentv1connect.TunnelServiceClient {
	return agentv1connect.NewTunnelServiceClient(caller{cc}, host, connect.WithGRPC(), boundedcall.Client(64<<10), connect.WithAcceptCompression("gzip", nil, nil))
}

func (c *connection) say(ctx context.Context, within time.Duration, m *agentv1.ControlRequest) (*agentv1.ControlResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	answer, err := c.agent.Control(ctx, connect.NewRequest(m))
	if err != nil {
		return nil, err
	}
	return answer.Msg, nil
}

func (c *connection) close() { _ = c.cc.Close() }

// gone reports whether the connection accepts no further streams.
func (c *connection) gone() bool { return c.cc.Err() != nil }
