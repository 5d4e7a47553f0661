package agent

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/axle-cd/axle/agent/configuration"
	"github.com/axle-cd/axle/agent/identity"
	"github.com/axle-cd/axle/agent/kube"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/lifecycle"
)

// FollowConfiguration follows a cluster's AgentConfiguration alone.
func FollowConfiguration(ctx context.Context, kubeconfig string, into configuration.Configured) error {
	k, err := kube.New(kubeconfig, clock.Real{}, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	c := configuration.New(k, into)
	return lifecycle.Run(ctx,
		lifecycle.Part{Name: "configuration", Run: c.Run},
		lifecycle.Part{Name: "cluster", Run: func(ctx context.Context) error { return k.Run(ctx, c.APIsChanged) }})
}

// Register registers an identity as a first start does, and stores it.
func Register(ctx context.Context, cfg Config, transport *http.Transport, id *identity.Identity) error {
	a := &Agent{cfg: cfg, transport: transport, identities: identity.File{Path: cfg.Dir(identity.FileName)}}
	return a.register(ctx, id)
}
