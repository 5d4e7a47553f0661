package agentapi

import (
	"sync/atomic"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
)

const (
	// mostUnderWay is how many calls and lists may be under way before no
	// further agent gets a list: a list leads to calls and a report, and what
	// they hold of memory until the database took them is what a start of the
	// whole fleet costs a hub. A commit takes up to 500 reports, so fewer would
	// make commits small.
	mostUnderWay = 256
	// comeAgain and comeSpread say when an agent that got no list asks again.
	comeAgain  = 3 * time.Second
	comeSpread = 7 * time.Second
)

// crowd counts what is under way for agents. Who is in the middle of something
// is never refused, only who would begin: so those who began come to an end.
// Bodies are read before they count, so that slow lines keep nobody out.
type crowd struct {
	most     int64
	underWay atomic.Int64
}

func (c *crowd) enter() { c.underWay.Add(1) }
func (c *crowd) leave() { c.underWay.Add(-1) }

// room returns why no further agent may begin now.
func (c *crowd) room() error {
	if c.underWay.Load() < c.most {
		return nil
	}
	return errcode.New(errcode.Unavailable, "many agents begin at once and this one comes later; nothing is to be done").After(jitter.Add(comeAgain, comeSpread))
}
