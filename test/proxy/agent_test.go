package proxy_test

import (
	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/agent/tunnel/authproxy"
)

// agentPolicy is what an agent allows people to do.
type agentPolicy = authproxy.Policy

// newAgentHalf makes an agent's half of the proxy.
func newAgentHalf(c *rest.Config, p agentPolicy) (*authproxy.Proxy, error) {
	return authproxy.New(authproxy.Config{Rest: c, Policy: p})
}
