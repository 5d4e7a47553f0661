package tunnel

import (
	"context"
	"time"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/logkey"
)

// sweep checks every connection and stream once a second, which costs less than
// a timer and a goroutine for each of ten thousand.
func (t *Tunnels) sweep(ctx context.Context) error {
	for {
		select {
		case <-t.config.Clock.After(t.config.Sweep):
		case <-ctx.Done():
			return nil
		}
		now := t.config.Clock.Now()
		t.sweepStreams(ctx, now)
		t.sweepConnections(ctx, now)
	}
}

// sweepStreams closes streams whose client does not read, and pings connections
// on which a stream has waited long for its answer.
func (t *Tunnels) sweepStreams(ctx context.Context, now time.Time) {
	var stalled []*flow
	doubted := map[*connection]bool{}
	t.mu.Lock()
	for s := range t.streams {
		switch {
		case s.stalledFor(now) > t.config.StallAfter:
			stalled = append(stalled, s)
		case s.conn != nil && !s.doubted && !s.conn.doubted && s.waitsFor(now) > t.config.DoubtAfter:
			s.doubted, s.conn.doubted = true, true
			doubted[s.conn] = true
		}
	}
	t.mu.Unlock()
	for _, s := range stalled {
		t.metrics.stalled.Inc()
		s.cancel(errStalled)
	}
	for c := range doubted {
		t.running.Go(func() { t.prove(ctx, c) })
	}
}

// prove closes a connection that does not answer a ping in time.
func (t *Tunnels) prove(ctx context.Context, c *connection) {
	asked := time.Now()
	_, err := c.say(ctx, t.config.ProofWithin, &agentv1.ControlRequest{Message: &agentv1.ControlRequest_Ping{Ping: &agentv1.TunnelPing{Number: uint64(asked.UnixNano())}}})
	t.mu.Lock()
	c.doubted = false
	t.mu.Unlock()
	if err == nil || ctx.Err() != nil || c.raw.heard.Load() > asked.UnixNano() {
		return // slow is not dead: data arrived
	}
	t.metrics.dead.Inc()
	t.config.Log.Info("a tunnel is closed: a request waits and the agent does not answer", logkey.Cluster, c.clusterName)
	c.close()
}

// sweepConnections tells agents to replace old connections, and closes those
// that have nothing more to do.
func (t *Tunnels) sweepConnections(ctx context.Context, now time.Time) {
	var leave, end []*connection
	t.mu.Lock()
	for _, c := range t.current {
		if !c.retireAt.IsZero() && now.After(c.retireAt) {
			t.retire(c)
			t.now(c.clusterID, Down)
			continue
		}
		if now.After(c.endsAt) {
			// Until the next connection comes, this one continues.
			c.endsAt = now.Add(t.config.LifeSpread)
			leave = append(leave, c)
		}
	}
	for c := range t.old {
		if c.streams == 0 || now.After(c.closeAt) {
			end = append(end, c)
		}
	}
	t.mu.Unlock()
	for _, c := range leave {
		t.running.Go(func() { t.sendAway(ctx, c, "the connection is old", 0) })
	}
	for _, c := range end {
		c.close()
	}
}
