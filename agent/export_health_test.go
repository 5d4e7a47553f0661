package agent

import (
	"context"
	"log/slog"

	"github.com/axle-cd/axle/agent/health"
	"github.com/axle-cd/axle/internal/clock"
)

// FollowHealthRules keeps rules as a cluster has them until the context ends.
func FollowHealthRules(ctx context.Context, kubeconfig string, rules *health.Rules, changed func()) error {
	k, err := newKube(kubeconfig, clock.Real{}, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	h := newHealthRules(k, rules, changed)
	served := make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
	go func() { served <- k.run(ctx, h.apisChanged) }()
	err = h.run(ctx)
	cancel()
	<-served
	return err
}
