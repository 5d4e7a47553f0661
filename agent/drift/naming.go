package drift

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/fieldname"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// maxHeals bounds the heals not yet reported to the hub; older ones are dropped,
// because nothing depends on them.
const maxHeals = 100

// maxNaming bounds the objects whose fields wait to be named; others are shown
// without names.
const maxNaming = 1000

// naming finds out which fields people added, and keeps the healed fields. A watch
// keeps a hash of the fields, so that an object is read once when that changes.
// Watcher.mu guards it.
type naming struct {
	w     *Watcher
	queue map[kubeobj.Ref]kubeobj.Kind
	wake  chan struct{}
	// untold are heals that the hub has not acknowledged, oldest first. Those up to
	// asked may be in a running report. number is that of the last one.
	untold        []*agentv1.Heal
	asked, number int64
}

func newNaming(w *Watcher) *naming {
	return &naming{w: w, queue: map[kubeobj.Ref]kubeobj.Kind{}, wake: make(chan struct{}, 1)}
}

// askLocked requests the names of the fields that people added.
func (n *naming) askLocked(want kubeobj.Expected, live kubeobj.Live, m *mark) {
	if m.named == live.Print.Foreign || len(n.queue) >= maxNaming || kubeobj.Compare(want, live, true) != kubeobj.Added {
		return
	}
	m.fields = nil
	m.named, n.queue[want.Ref] = live.Print.Foreign, want.Kind
	poke(n.wake)
}

// run reads the queued objects, no faster than heals are written.
func (n *naming) run(ctx context.Context) {
	for {
		ref, kind, ok := n.next()
		switch {
		case !ok:
			select {
			case <-ctx.Done():
				return
			case <-n.wake:
			}
		case n.w.heals.Wait(ctx) != nil:
			return
		default:
			n.read(ctx, kind, ref)
		}
	}
}

func (n *naming) next() (kubeobj.Ref, kubeobj.Kind, bool) {
	n.w.mu.Lock()
	defer n.w.mu.Unlock()
	for ref, kind := range n.queue {
		delete(n.queue, ref)
		return ref, kind, true
	}
	return kubeobj.Ref{}, kubeobj.Kind{}, false
}

func (n *naming) read(ctx context.Context, kind kubeobj.Kind, ref kubeobj.Ref) {
	raw, err := n.w.fetch(ctx, kind, ref, acceptMetadata)
	var meta metav1.PartialObjectMetadata
	if err != nil || json.Unmarshal(raw, &meta) != nil {
		return // show it without names
	}
	added := fieldname.Added(meta.ManagedFields, kubeobj.Human)
	n.w.mu.Lock()
	defer n.w.mu.Unlock()
	if m := n.w.marks[ref]; m != nil && m.shown && len(added) > 0 {
		m.fields = added
		n.w.tellLocked(m.service)
	}
}

// healedLocked records heals, for the hub and for findings of objects that are
// changed again.
func (n *naming) healedLocked(service string, healed []kubeobj.Healed, now time.Time) {
	for _, h := range healed {
		if m := n.w.marks[h.Ref]; m != nil {
			m.fields = h.Fields
		}
		one := &agentv1.Heal{ServiceId: service, At: clock.Micros(now), Group: h.Ref.Group, Kind: h.Ref.Kind, Namespace: h.Ref.Namespace, Name: h.Ref.Name,
			Fields: driftedFields(h.Fields, "healed")}
		// Repeated heals of one object become one heal with a count.
		again := slices.IndexFunc(n.untold, func(o *agentv1.Heal) bool {
			return o.GetNumber() > n.asked && o.GetServiceId() == service && o.GetGroup() == one.GetGroup() && o.GetKind() == one.GetKind() &&
				o.GetNamespace() == one.GetNamespace() && o.GetName() == one.GetName()
		})
		if again >= 0 {
			one.Times = max(1, n.untold[again].GetTimes()) + 1
			n.untold = slices.Delete(n.untold, again, again+1)
		}
		n.number++
		one.Number = n.number
		n.untold = append(n.untold, one)
		n.untold = n.untold[max(0, len(n.untold)-maxHeals):]
	}
}

func driftedFields(all []kubeobj.FieldChange, action string) []*agentv1.DriftedField {
	var out []*agentv1.DriftedField
	for _, c := range all[:min(fieldname.Most, len(all))] {
		out = append(out, &agentv1.DriftedField{Path: c.Path, Manager: c.Manager, Action: action})
	}
	return out
}

// healWords describes the heal of the first object.
func healWords(healed []kubeobj.Healed) string {
	switch {
	case len(healed) == 0:
		return ""
	case healed[0].Made:
		return kubeobj.Absent.String()
	case len(healed[0].Fields) == 0:
		return kubeobj.Unmarked.String()
	}
	return kubeobj.Changed.String() + ": " + fieldname.Words(healed[0].Fields)
}

// Heals returns the heals that the hub has not acknowledged, in order of number, at
// most 100, for one report.
func (w *Watcher) Heals() []*agentv1.Heal {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.naming.asked = w.naming.number
	return slices.Clone(w.naming.untold)
}

// HealsTaken acknowledges the heals up to a number.
func (w *Watcher) HealsTaken(number int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.naming.untold = slices.DeleteFunc(w.naming.untold, func(h *agentv1.Heal) bool { return h.GetNumber() <= number })
}

// poke wakes the goroutine that waits for a channel.
func poke(wake chan struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}
