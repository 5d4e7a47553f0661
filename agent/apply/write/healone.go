package write

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/axle-cd/axle/agent/apply/inventory"
	"github.com/axle-cd/axle/agent/apply/kubeclient"
	"github.com/axle-cd/axle/agent/apply/wave"
	"github.com/axle-cd/axle/internal/fieldname"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// Heal reads the object first: the watches report an object that lost our label as
// deleted.
func (w *Writer) Heal(ctx context.Context, it *wave.Item, had inventory.Entry) (inventory.Entry, kubeobj.Healed, error) {
	what := kubeobj.Healed{Ref: it.Ref}
	if refused := w.mayRewrite(it.Ref); refused != nil {
		return inventory.Entry{}, what, refused
	}
	var before, meta *metav1.PartialObjectMetadata
	var err error
	for try := 0; ; try++ {
		before, meta, err = w.healOnce(ctx, it, had)
		if !Raced(ctx, err, try) {
			break
		}
	}
	if err != nil {
		return inventory.Entry{}, what, w.explain(it, err)
	}
	if what.Same = it.Same; !what.Same {
		w.rewrote(it.Ref)
	}
	if what.Made = before == nil; !what.Made {
		what.Fields = fieldname.Taken(before.ManagedFields, meta.ManagedFields)
		if w.Service.Strict {
			what.Fields = append(what.Fields, fieldname.Added(before.ManagedFields, kubeobj.Human)...)
		}
	}
	return w.done(it, meta), what, nil
}

// healOnce returns the object's metadata before (nil if there was none) and after the
// heal.
func (w *Writer) healOnce(ctx context.Context, it *wave.Item, had inventory.Entry) (before, meta *metav1.PartialObjectMetadata, err error) {
	v, why, before, err := w.look(ctx, it, &had)
	if err == nil {
		meta, err = w.act(ctx, v, why, it, before)
	}
	if kubeclient.MissingNamespace(err) && it.Ref.Namespace == w.Service.Namespace {
		w.NamespaceLost(it.Ref.Namespace)
		if err = w.MakeNamespace(ctx, w.Client, w.Service); err == nil {
			meta, err = w.act(ctx, v, why, it, before)
		}
	}
	return before, meta, err
}
