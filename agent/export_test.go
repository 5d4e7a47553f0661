package agent

import (
	"context"
	"log/slog"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/lifecycle"
)

// FollowConfiguration follows a cluster's AgentConfiguration alone.
func FollowConfiguration(ctx context.Context, kubeconfig string, into configured) error {
	k, err := newKube(kubeconfig, clock.Real{}, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	c := newConfiguration(k, into)
	return lifecycle.Run(ctx,
		lifecycle.Part{Name: "configuration", Run: c.run},
		lifecycle.Part{Name: "cluster", Run: func(ctx context.Context) error { return k.run(ctx, c.apisChanged) }})
}
