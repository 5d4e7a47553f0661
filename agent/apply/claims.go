package apply

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"github.com/axle-cd/axle/internal/kubeobj"
)

// claims are the objects that services render while other services have them. It is
// safe for concurrent use and makes no requests.
type claims struct {
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

func newClaims() *claims {
	return &claims{heirs: map[kubeobj.Ref]string{}, of: map[string]*claim{}, patience: map[string]time.Time{}}
}

func (c *claims) ofLocked(service string) *claim {
	if c.of[service] == nil {
		c.of[service] = &claim{refs: map[kubeobj.Ref]bool{}}
	}
	return c.of[service]
}

// renew replaces the claims of a service by what it renders now. Objects that it no
// longer renders are no longer claimed.
func (c *claims) renew(service serviceInput, renders func(kubeobj.Ref) bool, unable map[kubeobj.Ref]string, idle string) {
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

// put makes a service the heir of an object.
func (c *claims) put(ref kubeobj.Ref, service string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropLocked(ref)
	c.heirs[ref] = service
	c.ofLocked(service).refs[ref] = true
}

// drop ends the claim of an object.
func (c *claims) drop(ref kubeobj.Ref) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropLocked(ref)
}

func (c *claims) dropLocked(ref kubeobj.Ref) {
	if one := c.of[c.heirs[ref]]; one != nil {
		delete(one.refs, ref)
	}
	delete(c.heirs, ref)
}

// forget ends all claims of a service.
func (c *claims) forget(service string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if one := c.of[service]; one != nil {
		for ref := range one.refs {
			delete(c.heirs, ref)
		}
	}
	delete(c.of, service)
}

// rests records why a service takes nothing now; empty means that it does.
func (c *claims) rests(service, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ofLocked(service).idle = why
}

// heir returns the other service that renders an object now, or empty. cannot names
// that service and the reason why it does not take the object; it is empty if it
// does.
func (c *claims) heir(service string, ref kubeobj.Ref) (heir, cannot string) {
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

// waited is how long a service has waited for others. Without others the wait ends.
func (c *claims) waited(service string, others int, now time.Time) time.Duration {
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
