package proxy_test

import (
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/agent/clusterapi"
	"github.com/axle-cd/axle/agent/tunnel/authproxy"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
)

// agentPolicy is what an agent allows people to do.
type agentPolicy = authproxy.Policy

// newAgentHalf makes an agent's half of the proxy. The services make clusters.
func newAgentHalf(c *rest.Config, p agentPolicy, services []*agentv1.ServiceSpec) (*authproxy.Proxy, error) {
	client, err := kubernetes.NewForConfig(c)
	if err != nil {
		return nil, err
	}
	made := clusterapi.New(clusterapi.Config{Client: client})
	made.Set(services)
	return authproxy.New(authproxy.Config{Rest: c, Policy: p, Guard: made})
}
