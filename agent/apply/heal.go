package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/fieldname"
	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/internal/packedobj"
)

// rendered is the packed input of a service's last pass. The agent keeps it for every
// service, so that a heal needs no render.
type rendered struct {
	packed []byte
	client *client
}

// wireItem is an item in packed form.
type wireItem struct {
	Ref      kubeobj.Ref
	Kind     kubeobj.Kind
	Order    order `json:"Place"`
	Body     json.RawMessage
	Hash     uint64
	Once     bool
	Recreate bool
	Prune    pruning
	Moment   moment        `json:",omitempty"`
	Runs     bool          `json:",omitempty"`
	Policy   hookPolicy    `json:",omitempty"`
	Limit    time.Duration `json:",omitempty"`
}

// remember keeps a plan for heals.
func (e *Engine) remember(t *serviceState, c *client, p *plan) {
	items := make([]wireItem, 0, len(p.items))
	for _, it := range p.items {
		items = append(items, it.wire())
	}
	raw, err := json.Marshal(items)
	if err != nil {
		raw = []byte("[]")
	}
	packed := packedobj.Bytes(raw)
	e.mu.Lock()
	defer e.mu.Unlock()
	t.rendered, t.targets = rendered{packed: packed, client: c}, targetsOf(p)
}

func (r rendered) items() (map[kubeobj.Ref]*item, error) {
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
	e.mu.RLock()
	t := e.services[service]
	e.mu.RUnlock()
	if t == nil {
		return nil, errcode.New(errcode.NotFound, "service %s is not on this cluster", service)
	}
	if !t.pass.TryLock() {
		// The running pass takes care of it.
		return nil, nil
	}
	defer t.pass.Unlock()
	e.mu.RLock()
	kept, i, spec, paused, targets := t.rendered, t.inventory, t.service, t.paused, t.targets
	e.mu.RUnlock()
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
	return e.heal(ctx, t, &writer{engine: e, client: kept.client, service: spec, targets: targets}, i.clone(), items, refs)
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

// heal reads the object first: the watches report an object that lost our label as
// deleted.
func (w *writer) heal(ctx context.Context, it *item, had entry) (entry, kubeobj.Healed, error) {
	what := kubeobj.Healed{Ref: it.ref}
	if refused := w.engine.mayRewrite(it.ref); refused != nil {
		return entry{}, what, refused
	}
	var before, meta *metav1.PartialObjectMetadata
	var err error
	for try := 0; ; try++ {
		before, meta, err = w.healOnce(ctx, it, had)
		if !raced(ctx, err, try) {
			break
		}
	}
	if err != nil {
		return entry{}, what, w.explain(it, err)
	}
	w.engine.rewrote(it.ref)
	if what.Made = before == nil; !what.Made {
		what.Fields = fieldname.Taken(before.ManagedFields, meta.ManagedFields)
		if w.service.Strict {
			what.Fields = append(what.Fields, fieldname.Added(before.ManagedFields, kubeobj.Human)...)
		}
	}
	return w.done(it, meta), what, nil
}

// healOnce returns the object's metadata before (nil if there was none) and after the
// heal.
func (w *writer) healOnce(ctx context.Context, it *item, had entry) (before, meta *metav1.PartialObjectMetadata, err error) {
	v, why, before, err := w.engine.look(ctx, w.client, w.service, it, &had)
	if err == nil {
		meta, err = w.act(ctx, v, why, it, before)
	}
	if missingNamespace(err) && it.ref.Namespace == w.service.Namespace {
		w.engine.namespaceLost(it.ref.Namespace)
		if err = w.engine.makeNamespace(ctx, w.client, w.service); err == nil {
			meta, err = w.act(ctx, v, why, it, before)
		}
	}
	return before, meta, err
}

func (e *Engine) saveHealed(ctx context.Context, t *serviceState, next *inventory) error {
	// Update memory first: the watches compare with it at once, while the stored
	// state only matters after a restart, which would apply the object again.
	e.commit(t, next)
	stored := next.clone()
	err := e.store.save(ctx, stored)
	if err == nil {
		e.commit(t, stored)
	}
	if errcode.Is(err, errcode.Conflict) {
		e.mu.Lock()
		t.stale = true
		e.mu.Unlock()
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
