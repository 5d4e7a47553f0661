package tunnel

import (
	"context"
	"log/slog"
	"net"
	"time"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/clock"
)

// Config is what a Tunnel needs. Those before the blank line are needed.
type Config struct {
	// Dial makes a connection to the hub on which HTTP/2 can begin; DialHub
	// makes one that does.
	Dial func(ctx context.Context) (net.Conn, error)
	// Streams serves what the hub asks.
	Streams Handler

	// Hint is told that asking the hub now is worth while; it must not block.
	Hint func(*agentv1.TunnelHint)
	// ClusterID is checked against what the hub takes this agent for.
	ClusterID string
	// Version is this agent's.
	Version string
	// Proxy is what this agent lets people do: "off", "read" or "full".
	Proxy string
	// PingEvery and AnswerWithin are 25 s when zero.
	PingEvery time.Duration
	// Grace is how long streams of an old connection may go on; 1 h when zero.
	Grace time.Duration
	Clock clock.Clock
	Log   *slog.Logger
}
