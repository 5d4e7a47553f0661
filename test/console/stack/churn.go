package stack

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/test/scale"
)

// churn lets simulated clusters report changes, so that rows move on the screen: the
// health of every service of a cluster flips with each turn.
type churn struct {
	turn atomic.Int64
	end  context.CancelFunc
	done chan error
}

// act is what the clusters say of their services.
func (c *churn) act(s scale.Seen) *agentv1.ServiceStatus {
	if c.turn.Load()%2 == 0 || s.Content == nil {
		return scale.Healthy(s)
	}
	return s.Applied("Synced", "Progressing", "1 of 2 pods is updated", nil)
}

// start lets the first clusters report until stop, so many changes a second.
func (c *churn) start(ctx context.Context, clusters []*scale.Cluster, services, rate int) {
	ctx, c.end = context.WithCancel(context.WithoutCancel(ctx))
	c.done = make(chan error, 1)
	go func() { c.done <- c.run(ctx, clusters, services, rate) }()
}

func (c *churn) run(ctx context.Context, clusters []*scale.Cluster, services, rate int) error {
	// One cluster reports all of its services at once.
	tick := time.NewTicker(time.Second * time.Duration(services) / time.Duration(rate))
	defer tick.Stop()
	// As many as show at the top of a list; all of them turn within a few seconds.
	clusters = clusters[:min(40, len(clusters))]
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if n%len(clusters) == 0 {
			c.turn.Add(1)
		}
		if err := clusters[n%len(clusters)].Report(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

func (c *churn) stop() error {
	if c.end == nil {
		return errors.New("nothing moves")
	}
	c.end()
	c.end = nil
	return <-c.done
}
