package apply

import (
	"context"
	"strings"
	"time"

	"github.com/axle-cd/axle/internal/kubeobj"
)

const (
	// againOthers is when a prune that waits for other services looks again.
	againOthers = time.Second
	// othersLimit bounds that wait: a service that cannot be rendered must not
	// keep all others from pruning.
	othersLimit = 2 * time.Minute
)

// othersFirst names a service that has to be rendered before this one deletes
// anything: objects often move between services in one commit, and the one
// that loses them may come first. Empty: nobody is waited for, or it took too
// long.
func (e *Engine) othersFirst(service Service) string {
	other := ""
	if service.Unsettled != nil {
		other = service.Unsettled()
	}
	now := e.cfg.Clock.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	if other == "" {
		delete(e.patience, service.ID)
		return ""
	}
	since, waiting := e.patience[service.ID]
	if !waiting {
		since = now
		e.patience[service.ID] = now
	}
	if now.Sub(since) > othersLimit {
		return ""
	}
	return other
}

// heir is the other service that renders an object now.
func (e *Engine) heir(service string, ref kubeobj.Ref) string {
	e.mu.RLock()
	defer e.mu.RUnlock()
	heir := e.wanted[ref]
	if heir == service {
		return ""
	}
	return heir
}

// want notes what its autoscalers scale, and which objects of other services this one renders from now on,
// before any of them is written: a wave that fails must not make the objects of
// later waves look unwanted to the one who gives them up. What is not rendered
// any more is not wanted any more, or it would be given to somebody who never
// deletes it.
func (e *Engine) want(service string, before *inventory, p *plan) {
	e.mu.Lock()
	defer e.mu.Unlock()
	t := e.tenantLocked(service)
	t.targets = targetsOf(p)
	for ref := range t.wants {
		if p.byRef[ref] == nil {
			e.unwantLocked(ref)
		}
	}
	for ref := range p.byRef {
		if had, ok := before.entries[ref]; ok && had.hash != 0 {
			continue
		}
		for _, id := range e.othersLocked(ref, service) {
			if e.services[id].inventory.entries[ref].hash != 0 {
				e.wantLocked(ref, service)
			}
		}
	}
}

// wantLocked notes that a service renders an object that another one has.
func (e *Engine) wantLocked(ref kubeobj.Ref, service string) {
	e.unwantLocked(ref)
	e.wanted[ref] = service
	t := e.tenantLocked(service)
	if t.wants == nil {
		t.wants = map[kubeobj.Ref]bool{}
	}
	t.wants[ref] = true
}

// unwantLocked forgets it.
func (e *Engine) unwantLocked(ref kubeobj.Ref) {
	if t := e.services[e.wanted[ref]]; t != nil {
		delete(t.wants, ref)
	}
	delete(e.wanted, ref)
}

// handOver gives an object to another service of ours, which applies it next.
func (e *Engine) handOver(ctx context.Context, c *client, service, heir string, entry entry) error {
	annotations := map[string]any{kubeobj.ServiceAnnotation: heir}
	if strings.EqualFold(entry.ref.Group, kubeobj.OwningInventoryGroup) {
		annotations[kubeobj.OwningInventory] = heir
	}
	if err := remark(ctx, c, service, entry, nil, annotations); err != nil {
		return err
	}
	e.cfg.NeedPass(heir)
	return nil
}
