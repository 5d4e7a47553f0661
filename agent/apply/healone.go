package apply

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/axle-cd/axle/internal/fieldname"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// heal reads the object first: the watches report an object that lost our label as
// deleted.
func (w *writer) heal(ctx context.Context, it *item, had entry) (entry, kubeobj.Healed, error) {
	what := kubeobj.Healed{Ref: it.ref}
	if refused := w.mayRewrite(it.ref); refused != nil {
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
	w.rewrote(it.ref)
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
	v, why, before, err := w.look(ctx, it, &had)
	if err == nil {
		meta, err = w.act(ctx, v, why, it, before)
	}
	if missingNamespace(err) && it.ref.Namespace == w.service.Namespace {
		w.namespaceLost(it.ref.Namespace)
		if err = w.makeNamespace(ctx, w.client, w.service); err == nil {
			meta, err = w.act(ctx, v, why, it, before)
		}
	}
	return before, meta, err
}
