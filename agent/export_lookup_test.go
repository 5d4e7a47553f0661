package agent

import (
	"log/slog"

	"github.com/axle-cd/axle/agent/poll"
	"github.com/axle-cd/axle/internal/clock"
)

// NewCluster is the cluster as renders ask it.
func NewCluster(kubeconfig string) (poll.Cluster, error) {
	return newKube(kubeconfig, clock.Real{}, slog.New(slog.DiscardHandler))
}
