package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/internal/packedobj"
)

// kept is the packed input of a service's last pass. The agent keeps it for every
// service, so that a heal needs no render.
type kept struct {
	packed []byte
	client *client
	// targets are what the service's autoscalers scale.
	targets map[kubeobj.Ref]bool
	// service is that of the last turn.
	service Service
}

// remember keeps a plan for heals.
func (e *Engine) remember(service Service, c *client, p *plan) {
	items := make([]wireItem, 0, len(p.items))
	for _, it := range p.items {
		items = append(items, it.wire())
	}
	raw, err := json.Marshal(items)
	if err != nil {
		raw = []byte("[]")
	}
	packed := packedobj.Bytes(raw)
	e.keeping.Lock()
	defer e.keeping.Unlock()
	e.kept[service.ID] = kept{packed: packed, client: c, targets: p.targets(), service: service}
}

// recall returns what was kept of a service.
func (e *Engine) recall(service string) kept {
	e.keeping.Lock()
	defer e.keeping.Unlock()
	return e.kept[service]
}

func (r kept) items() (map[kubeobj.Ref]*item, error) {
	raw, err := packedobj.Text(r.packed)
	if err != nil {
		return nil, err
	}
	var list []wireItem
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	all := make(map[kubeobj.Ref]*item, len(list))
	for _, w := range list {
		all[w.Ref] = w.item()
	}
	return all, nil
}

// Heal applies some objects again, as they were last rendered. An object that cannot
// be written does not stop the others. NotFound: the service has not been rendered
// since the start and needs a Pass. Conflict: an object belongs to somebody else.
// Unavailable: the API server is. It returns the healed objects, also with an error.
func (e *Engine) Heal(ctx context.Context, service string, refs []kubeobj.Ref) ([]kubeobj.Healed, error) {
	t, known := e.owners.interject(service)
	if !known {
		return nil, errcode.New(errcode.NotFound, "service %s is not on this cluster", service)
	}
	if t == nil {
		// The running pass takes care of it.
		return nil, nil
	}
	defer t.done()
	kept := e.recall(service)
	i, _ := e.owners.known(t)
	switch {
	case e.owners.isPaused(t):
		return nil, nil
	case kept.packed == nil || i == nil:
		return nil, errcode.New(errcode.NotFound, "service %s has not been rendered since the agent's start", service)
	}
	items, err := kept.items()
	if err != nil {
		return nil, errcode.New(errcode.NotFound, "read the rendered objects of service %s: %w", service, err)
	}
	return e.heal(ctx, t, &writer{shared: e.written, client: kept.client, service: kept.service, targets: kept.targets}, i.clone(), items, refs)
}

func (e *Engine) heal(ctx context.Context, t *serviceState, w *writer, next *inventory, items map[kubeobj.Ref]*item, refs []kubeobj.Ref) ([]kubeobj.Healed, error) {
	var faults []error
	var healed []kubeobj.Healed
	for _, ref := range refs {
		it, had := items[ref], next.entries[ref]
		if it == nil || had.hash != it.hash || had.leaving {
			// The next pass changes it anyway.
			continue
		}
		written, what, err := w.heal(ctx, it, had)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		written.fresh = had.fresh
		next.entries[ref] = written
		healed = append(healed, what)
	}
	if len(healed) > 0 {
		next.appliedAt = e.cfg.Clock.Now()
		if err := e.saveHealed(ctx, t, next); err != nil {
			faults = append(faults, err)
		}
	}
	return healed, healFault(w.service, faults)
}

func (e *Engine) saveHealed(ctx context.Context, t *serviceState, next *inventory) error {
	// Update memory first: the watches compare with it at once, while the stored
	// state only matters after a restart, which would apply the object again.
	e.owners.commit(t, next)
	stored := next.clone()
	err := e.store.save(ctx, stored)
	if err == nil {
		e.owners.commit(t, stored)
	}
	if errcode.Is(err, errcode.Conflict) {
		e.owners.markStale(t, true)
	}
	return err
}

func healFault(service Service, faults []error) error {
	if len(faults) == 0 {
		return nil
	}
	code := errcode.Unprocessable
	var texts []string
	for _, err := range faults {
		var refused *refusal
		switch {
		case errors.As(err, &refused) && refused.reason == ReasonOwnership:
			code = errcode.Conflict
		case !errors.As(err, &refused):
			code = errcode.Of(err)
		}
		texts = append(texts, err.Error())
	}
	text := texts[0]
	if len(texts) > 1 {
		text += fmt.Sprintf(" (and %d more)", len(texts)-1)
	}
	return errcode.New(code, "%s", strings.TrimSpace(service.Scrub.String(text)))
}
