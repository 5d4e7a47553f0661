package agent

import (
	"context"
	"log/slog"

	"github.com/axle-cd/axle/agent/drift"
	"github.com/axle-cd/axle/agent/health"
	"github.com/axle-cd/axle/agent/kube"
	"github.com/axle-cd/axle/agent/render"
	"github.com/axle-cd/axle/internal/clock"
)

// Verdicts asks a runner's child for what rules in CEL say.
func Verdicts(runner *render.Runner) drift.Expressions { return verdicts{runner} }

// FollowHealthRules keeps rules as a cluster has them until the context ends.
func FollowHealthRules(ctx context.Context, kubeconfig string, runner *render.Runner, rules *health.Rules, changed func()) error {
	k, err := kube.New(kubeconfig, clock.Real{}, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	h := newHealthRules(k, rules, verdicts{runner}.check, changed)
	served := make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
	go func() { served <- k.Run(ctx, h.apisChanged) }()
	err = h.run(ctx)
	cancel()
	<-served
	return err
}
