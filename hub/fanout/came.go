package fanout

import (
	"context"
	"sync"

	"github.com/axle-cd/axle/hub/event"
)

// maxCame limits how many clusters are remembered individually; above it all
// are checked.
const maxCame = 2_000

// came are the clusters that came, changed or reported since a finished rollout
// was last checked. Every replica records them, and the one that does the work
// begins by checking all.
type came struct {
	mu  sync.Mutex
	ids map[string]bool
	all bool
}

// add records clusters; nil is all of them.
func (c *came) add(ids []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ids == nil {
		c.ids = map[string]bool{}
	}
	for _, id := range ids {
		c.ids[id] = true
	}
	if c.all = c.all || ids == nil || len(c.ids) > maxCame; c.all {
		clear(c.ids)
	}
}

// take returns and clears the recorded clusters; nil is all clusters.
func (c *came) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all {
		c.all = false
		return nil
	}
	ids := make([]string, 0, len(c.ids))
	for id := range c.ids {
		ids = append(ids, id)
	}
	clear(c.ids)
	return ids
}

var _ event.Subscriber = (*Engine)(nil)

// Rebuild implements event.Subscriber.
func (e *Engine) Rebuild(context.Context) error {
	e.came.add(nil)
	return nil
}

// Apply implements event.Subscriber. It only records clusters.
func (e *Engine) Apply(_ context.Context, rows []event.Row) error {
	var ids []string
	for _, r := range rows {
		switch r.Kind {
		case event.KindCluster, event.KindReport:
			ids = append(ids, r.Cluster)
		}
	}
	if len(ids) > 0 {
		e.came.add(ids)
	}
	return nil
}
