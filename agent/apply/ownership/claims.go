package ownership

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/axle-cd/axle/agent/apply/inventory"
	"github.com/axle-cd/axle/agent/apply/plan"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// Claims are the objects that services render while other services have them. It is
// safe for concurrent use and makes no requests.
type Claims struct {
	mu sync.Mutex
	// heirs are the services by object; the last one to claim it counts.
	heirs map[kubeobj.Ref]string
	of    map[string]*claim
	// patience is the time since when a service's prune or drain has waited for
	// others.
	patience map[string]time.Time
}

// claim is what is known of one service.
type claim struct {
	name string
	refs map[kubeobj.Ref]bool
	// idle says why the service takes none of them now, unable why it cannot have
	// some of them.
	idle   string
	unable map[kubeobj.Ref]string
}

func newClaims() *Claims {
	return &Claims{heirs: map[kubeobj.Ref]string{}, of: map[string]*claim{}, patience: map[string]time.Time{}}
}

func (c *Claims) ofLocked(service string) *claim {
	if c.of[service] == nil {
		c.of[service] = &claim{refs: map[kubeobj.Ref]bool{}}
	}
	return c.of[service]
}

// renew replaces the claims of a service by what it renders now. Objects that it no
// longer renders are no longer claimed.
func (c *Claims) renew(service plan.Service, renders func(kubeobj.Ref) bool, unable map[kubeobj.Ref]string, idle string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.ofLocked(service.ID)
	one.name, one.idle, one.unable = service.Name, idle, unable
	for ref := range one.refs {
		if !renders(ref) {
			c.dropLocked(ref)
		}
	}
}

// Put makes a service the heir of an object.
func (c *Claims) Put(ref kubeobj.Ref, service string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropLocked(ref)
	c.heirs[ref] = service
	c.ofLocked(service).refs[ref] = true
}

// Drop ends the claim of an object.
func (c *Claims) Drop(ref kubeobj.Ref) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropLocked(ref)
}

func (c *Claims) dropLocked(ref kubeobj.Ref) {
	if one := c.of[c.heirs[ref]]; one != nil {
		delete(one.refs, ref)
	}
	delete(c.heirs, ref)
}

// Forget ends all claims of a service.
func (c *Claims) Forget(service string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if one := c.of[service]; one != nil {
		for ref := range one.refs {
			delete(c.heirs, ref)
		}
	}
	delete(c.of, service)
}

// Rests records why a service takes nothing now; empty means that it does.
func (c *Claims) Rests(service, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ofLocked(service).idle = why
}

// Heir returns the other service that renders an object now, or empty. cannot names
// that service and the reason why it does not take the object; it is empty if it
// does.
func (c *Claims) Heir(service string, ref kubeobj.Ref) (heir, cannot string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	heir = c.heirs[ref]
	one := c.of[heir]
	if heir == service || one == nil {
		return "", ""
	}
	if why := cmp.Or(one.unable[ref], one.idle); why != "" {
		cannot = fmt.Sprintf("service %s (%s)", one.name, why)
	}
	return heir, cannot
}

// HeirsOf reports for objects of a service whether another one renders them.
func (c *Claims) HeirsOf(service string) func(kubeobj.Ref) bool {
	return func(ref kubeobj.Ref) bool {
		heir, _ := c.Heir(service, ref)
		return heir != ""
	}
}

// Waited is how long a service has waited for others. Without others the wait ends.
func (c *Claims) Waited(service string, others int, now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if others == 0 {
		delete(c.patience, service)
		return 0
	}
	since, waiting := c.patience[service]
	if !waiting {
		since = now
		c.patience[service] = now
	}
	return now.Sub(since)
}

// Awaited names the services that may still take over objects that a service gives
// up, with the reasons why they have not done so: services that render an object and
// do not take it now, and services that have not been rendered. Objects often move
// between services in one commit. The service that loses them may run first, or the
// other one may be unable to take them.
func (c *Claims) Awaited(service plan.Service, leaving []inventory.Entry) []string {
	var pending []plan.Pending
	if service.Unsettled != nil {
		pending = service.Unsettled()
	}
	var all []string
	for _, entry := range leaving {
		heir, cannot := c.Heir(service.ID, entry.Ref)
		if entry.Hook.Runs || heir != "" && cannot == "" {
			continue
		}
		who := []string{cannot}
		if heir == "" {
			who = nil
			for _, p := range pending {
				if p.Takes == nil || p.Takes(entry.Kind, entry.Ref) {
					who = append(who, fmt.Sprintf("service %s (%s)", p.Name, p.Why))
				}
			}
		}
		for _, text := range who {
			if !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
	}
	return all
}
