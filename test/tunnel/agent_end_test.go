package tunnel_test

import "github.com/axle-cd/axle/agent/tunnel"

// The agent's end, whose package has the name of the hub's.
type (
	agentConfig = tunnel.Config
	agentDialer = tunnel.Dialer
	agentStream = tunnel.Stream
	agentTunnel = tunnel.Tunnel
)

var (
	newAgentTunnel = tunnel.New
	agentTransport = tunnel.Transport
	agentProbe     = tunnel.Probe
	errOldHub      = tunnel.ErrOldHub
)
