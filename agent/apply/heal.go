package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/axle-cd/axle/agent/apply/inventory"
	"github.com/axle-cd/axle/agent/apply/kubeclient"
	"github.com/axle-cd/axle/agent/apply/ownership"
	"github.com/axle-cd/axle/agent/apply/plan"
	"github.com/axle-cd/axle/agent/apply/wave"
	"github.com/axle-cd/axle/agent/apply/write"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/internal/packedobj"
)

// kept is the packed input of a service's last pass. The agent keeps it for every
// service, so that a heal needs no render.
type kept struct {
	packed []byte
	client *kubeclient.Client
	// targets are what the service's autoscalers scale.
	targets map[kubeobj.Ref]bool
	// service is that of the last turn.
	service Service
}

// keeper keeps the inputs of all services' last passes. It is safe for concurrent use.
type keeper struct {
	mu  sync.Mutex
	all map[string]kept
}

// remember keeps a plan for heals.
func (k *keeper) remember(service Service, c *kubeclient.Client, p *plan.Plan) {
	items := make([]wave.Packed, 0, len(p.Items))
	for _, it := range p.Items {
		items = append(items, it.Pack())
	}
	raw, err := json.Marshal(items)
	if err != nil {
		raw = []byte("[]")
	}
	packed := packedobj.Bytes(raw)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all[service.ID] = kept{packed: packed, client: c, targets: p.Targets(), service: service}
}

// serve records the service of the present turn.
func (k *keeper) serve(service Service) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.all[service.ID]
	now.service = service
	k.all[service.ID] = now
}

// of returns what was kept of a service.
func (k *keeper) of(service string) kept {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.all[service]
}

// forget drops a removed service.
func (k *keeper) forget(service string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.all, service)
}

func (r kept) items() (map[kubeobj.Ref]*wave.Item, error) {
	raw, err := packedobj.Text(r.packed)
	if err != nil {
		return nil, err
	}
	var list []wave.Packed
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	all := make(map[kubeobj.Ref]*wave.Item, len(list))
	for _, w := range list {
		all[w.Ref] = w.Item()
	}
	return all, nil
}

// Heal applies some objects again, as they were last rendered. An object that cannot
// be written does not stop the others. NotFound: the service has not been rendered
// since the start and needs a Pass. Conflict: an object belongs to somebody else.
// Unavailable: the API server is. It returns the healed objects, also with an error.
func (e *Engine) Heal(ctx context.Context, service string, refs []kubeobj.Ref) ([]kubeobj.Healed, error) {
	t, known := e.owners.Interject(service)
	if !known {
		return nil, errcode.New(errcode.NotFound, "service %s is not on this cluster", service)
	}
	if t == nil {
		// The running pass takes care of it.
		return nil, nil
	}
	defer t.Done()
	kept := e.kept.of(service)
	i, _, paused := e.owners.Known(t)
	switch {
	case paused:
		return nil, nil
	case kept.packed == nil || i == nil:
		return nil, errcode.New(errcode.NotFound, "service %s has not been rendered since the agent's start", service)
	}
	items, err := kept.items()
	if err != nil {
		return nil, errcode.New(errcode.NotFound, "read the rendered objects of service %s: %w", service, err)
	}
	return e.heal(ctx, t, &write.Writer{Common: e.written, Client: kept.client, Service: kept.service, Targets: kept.targets}, i.Clone(), items, refs)
}

func (e *Engine) heal(ctx context.Context, t *ownership.State, w *write.Writer, next *inventory.Inventory, items map[kubeobj.Ref]*wave.Item, refs []kubeobj.Ref) ([]kubeobj.Healed, error) {
	var faults []error
	var healed []kubeobj.Healed
	for _, ref := range refs {
		it, had := items[ref], next.Entries[ref]
		if it == nil || had.Hash != it.Hash || had.Leaving {
			// The next pass changes it anyway.
			continue
		}
		written, what, err := w.Heal(ctx, it, had)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		written.Fresh = had.Fresh
		next.Entries[ref] = written
		healed = append(healed, what)
	}
	if len(healed) > 0 {
		next.AppliedAt = e.cfg.Clock.Now()
		if err := e.saveHealed(ctx, t, next); err != nil {
			faults = append(faults, err)
		}
	}
	return healed, healFault(w.Service, faults)
}

func (e *Engine) saveHealed(ctx context.Context, t *ownership.State, next *inventory.Inventory) error {
	// Update memory first: the watches compare with it at once, while the stored
	// state only matters after a restart, which would apply the object again.
	e.owners.Commit(t, next)
	stored := next.Clone()
	err := e.store.Save(ctx, stored)
	if err == nil {
		e.owners.Commit(t, stored)
	}
	if errcode.Is(err, errcode.Conflict) {
		e.owners.MarkStale(t, true)
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
		var refused *write.Refusal
		switch {
		case errors.As(err, &refused) && refused.Reason == ReasonOwnership:
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
