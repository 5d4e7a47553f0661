package tenancy

import (
	"fmt"
	"sync"

	"k8s.io/client-go/rest"
)

// Clients keeps one client for each user that services act as. It is safe for
// concurrent use; Make must be set.
type Clients[T any] struct {
	// Make makes a client from a permit's configuration.
	Make func(cfg *rest.Config) (T, error)

	mu  sync.Mutex
	all map[string]T
}

// For returns the client that acts with a permit. Forbidden for the zero permit.
func (c *Clients[T]) For(p Permit) (client T, err error) {
	cfg, err := p.REST()
	if err != nil {
		return client, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.all[p.user]; ok {
		return known, nil
	}
	if client, err = c.Make(cfg); err != nil {
		return client, fmt.Errorf("act as %s: %w", p.user, err)
	}
	if c.all == nil {
		c.all = map[string]T{}
	}
	c.all[p.user] = client
	return client, nil
}
