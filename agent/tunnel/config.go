package tunnel

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"time"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/clock"
)

const (
	// helloWithin is how long the hub's first message may take. If it takes longer,
	// something in between buffers.
	helloWithin = 10 * time.Second
	// pingAfter is how long a connection may be silent before the agent pings; the
	// hub pings earlier, so an agent rarely does. With answerWithin a dead connection
	// is detected in less than 65 s.
	pingAfter    = 40 * time.Second
	answerWithin = 15 * time.Second
	// grace is how long streams of a connection may continue after the next one took
	// over.
	grace = time.Hour
	// firstWait and maxWait bound the wait before dialling again, with full jitter:
	// if a hub with a thousand tunnels dies, all of them dial again.
	firstWait = 5 * time.Second
	maxWait   = time.Minute
	// goodAfter is how long a connection must live before the next failure counts as
	// the first.
	goodAfter = time.Minute
)

// Config is what a Tunnel needs. The fields before the blank line are required.
type Config struct {
	// Dial makes a connection to the hub on which HTTP/2 can begin; Dialer has such a
	// function.
	Dial func(ctx context.Context) (net.Conn, error)

	// Streams serves the hub's requests; without it every stream is refused.
	Streams Handler
	// Hint is called when a poll may find something, after the wait in the hint; it
	// must not block.
	Hint func(*agentv1.TunnelHint)
	// Version is this agent's.
	Version string
	// Proxy is what this agent allows people to do: "off", "read" or "full".
	Proxy string
	// HelloWithin, PingAfter, AnswerWithin, Grace and FirstWait default to the values
	// above when zero; tests need shorter ones.
	HelloWithin, PingAfter, AnswerWithin, Grace, FirstWait time.Duration
	Clock                                                  clock.Clock
	Log                                                    *slog.Logger
}

func (c *Config) check() error {
	if c.Dial == nil {
		return errors.New("tunnel: Dial is required")
	}
	c.HelloWithin = cmp.Or(c.HelloWithin, helloWithin)
	c.PingAfter = cmp.Or(c.PingAfter, pingAfter)
	c.AnswerWithin = cmp.Or(c.AnswerWithin, answerWithin)
	c.Grace = cmp.Or(c.Grace, grace)
	c.FirstWait = cmp.Or(c.FirstWait, firstWait)
	if c.Hint == nil {
		c.Hint = func(*agentv1.TunnelHint) {}
	}
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}
