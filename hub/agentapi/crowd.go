package agentapi

import (
	"context"
	"time"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/pool"
)

const (
	// mostUnderWay is how many calls and lists of agents may be in progress, of which one
	// project has a half. A list leads to calls and a report, and the memory that these
	// hold until the database has stored them is what a start of the whole fleet costs a
	// hub. A commit takes up to 500 reports, so a smaller number would make commits small.
	mostUnderWay = 512
	// mostWaiting is how many calls wait for others to end, and callWithin how long.
	mostWaiting = 8192
	callWithin  = callTimeout / 2
	// comeAgain and comeSpread say when an agent that got no list should retry.
	comeAgain  = 3 * time.Second
	comeSpread = 7 * time.Second
)

// newCrowd makes the pool of work for agents. An agent that would begin gets a place at
// once or is asked to come again; one that has begun waits for its place, so work that has
// begun finishes. Bodies are read before they count, so slow connections keep nobody out.
func newCrowd(c Config) *pool.Places {
	return c.Pools.Places(pool.Spec{
		Name: "agent_calls", Of: "calls and lists of agents", Size: c.MaxUnderWay, Queue: mostWaiting, Within: callWithin, Retry: comeAgain, Spread: comeSpread,
	})
}

// goOn waits for a place for a call. Calls that create an identity have pools of their own.
func (s *Server) goOn(ctx context.Context) (*pool.Held, error) {
	p, ok := identity.FromContext(ctx)
	if !ok {
		return nil, nil
	}
	return s.crowd.Wait(ctx, s.sharing(p))
}

// sharing is a cluster as pools know it.
func (s *Server) sharing(p identity.Principal) pool.Caller {
	return pool.Caller{Name: p.ID, Project: s.config.Project(p.ID)}
}
