package tunnel

import (
	"context"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/errcode"
)

// The states of a cluster's tunnel.
const (
	// Up: a replica of this hub holds a connection.
	Up = "Up"
	// Down: the agent keeps a tunnel and none is there.
	Down = "Down"
	// Off: the agent was told to keep none, or knows of no tunnels yet.
	Off = "Off"
)

// Tunnels are the tunnels of all clusters, as this replica sees them.
type Tunnels struct{}

// Open begins a stream to a cluster. ctx bounds the stream's whole life, not
// only its beginning. The error is Unavailable, with what to do, when the
// cluster has no tunnel, and Exhausted, which is HTTP 429, with RetryAfter and
// the names of those who hold most, when the cluster has 450 streams already.
func (t *Tunnels) Open(ctx context.Context, clusterID string, head *agentv1.StreamHead) (*Stream, error) {
	return nil, errcode.New(errcode.Unavailable, "cluster %s has no tunnel", clusterID)
}

// State returns Up, Down or Off, and since when, in microseconds since 1970
// UTC; 0 is unknown.
func (t *Tunnels) State(clusterID string) (state string, since int64) { return Off, 0 }
