package tunnel_test

import "github.com/axle-cd/axle/hub/tunnel"

// The hub's end, whose package has the name of the agent's.
type (
	hubConfig  = tunnel.Config
	hubStream  = tunnel.Stream
	hubTunnels = tunnel.Tunnels
)

var newHubTunnels = tunnel.New

const (
	isUp    = tunnel.Up
	isDown  = tunnel.Down
	isOff   = tunnel.Off
	hubPath = tunnel.Path
)
