package agent

import (
	"log/slog"

	"github.com/axle-cd/axle/agent/kube"
	"github.com/axle-cd/axle/agent/poll"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/clock"
)

// NewCluster is the cluster as renders ask it.
func NewCluster(kubeconfig string) (poll.Cluster, error) {
	return kube.New(kubeconfig, clock.Real{}, slog.New(slog.DiscardHandler))
}

// SpecOf is the spec that the agent would get for what RenderDir renders.
func SpecOf(r RenderRequest) (*agentv1.ServiceSpec, error) { return specOf(r) }
