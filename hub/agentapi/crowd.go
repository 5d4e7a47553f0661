package agentapi

import (
	"sync/atomic"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
)

const (
	// mostUnderWay is how many calls and lists may be in progress before
	// further agents get no list. A list leads to calls and a report, and the
	// memory that these hold until the database has stored them is what a start
	// of the whole fleet costs a hub. A commit takes up to 500 reports, so a
	// smaller number would make commits small.
	mostUnderWay = 256
	// comeAgain and comeSpread say when an agent that got no list should retry.
	comeAgain  = 3 * time.Second
	comeSpread = 7 * time.Second
)

// crowd counts the work in progress for agents. It refuses only agents that
// would begin, never one that has begun, so work that has begun finishes.
// Bodies are read before they count, so slow connections keep nobody out.
type crowd struct {
	most     int64
	underWay atomic.Int64
}

func (c *crowd) enter() { c.underWay.Add(1) }
func (c *crowd) leave() { c.underWay.Add(-1) }

// room returns an error when no further agent may begin now.
func (c *crowd) room() error {
	if c.underWay.Load() < c.most {
		return nil
	}
	return errcode.New(errcode.Unavailable, "many agents start at once, so this one has to wait; it retries by itself").After(jitter.Add(comeAgain, comeSpread))
}
