package authproxy

import (
	"context"
	"strings"
	"testing"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/tunnel"
	"github.com/axle-cd/axle/internal/errcode"
)

// Nobody looks for the agent of a cluster that the hub still makes, or removes.
func TestAClusterWithoutATunnelSaysWhy(t *testing.T) {
	p := &Proxy{config: Config{Open: func(context.Context, string, *agentv1.StreamHead) (Stream, error) { return nil, tunnel.ErrNone }}}
	for unmade, want := range map[string]string{
		"":                   "cluster edge has no tunnel to this hub now; axle clusters get edge shows",
		"is being destroyed": "cluster edge is being destroyed",
	} {
		_, err := p.openTo(t.Context(), &parsedRequest{cluster: Cluster{Name: "edge", Unmade: unmade}})
		if !errcode.Is(err, errcode.Unavailable) || !strings.HasPrefix(errcode.Message(err), want) || unmade != "" && strings.Contains(err.Error(), "doctor") {
			t.Errorf("%q: %v", unmade, err)
		}
	}
}
