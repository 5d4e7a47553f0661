package apply

import (
	"context"
	"encoding/json"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/axle-cd/axle/internal/kubeobj"
)

// decision is what a prune does with one object.
type decision int

const (
	// decisionGone: it no longer exists.
	decisionGone decision = iota
	// decisionDelete: it is ours and may be deleted.
	decisionDelete
	// decisionForget: it is no longer ours; leave it alone.
	decisionForget
	// decisionWait: it is already being deleted.
	decisionWait
)

// guard decides from live annotations, never from labels, what may happen to an
// object of the inventory.
func guard(service string, live kubeobj.Live, found bool) decision {
	switch {
	case !found:
		return decisionGone
	case !live.Owned(service) || live.ApplySet != "":
		return decisionForget
	case live.Deleting:
		return decisionWait
	}
	return decisionDelete
}

// prunable reports whether an object of the inventory may be deleted at all.
func prunable(i *inventory, e entry) bool {
	switch {
	case e.prune == pruneAlways:
		return true
	case e.prune == pruneNever, keptKinds[e.kind.GroupKind()]:
		return false
	}
	// If a mistake in the repository drops both a CRD and its objects, pruning the
	// object would delete people's data.
	crd := kubeobj.Ref{Group: crdKind.Group, Kind: crdKind.Kind, Name: e.kind.Resource + "." + e.kind.Group}
	_, same := i.entries[crd]
	return !same
}

// dispose deletes one object if the guard allows it. decisionGone: it is gone. decisionWait:
// finalizers hold it. decisionForget: it was left alone.
func dispose(ctx context.Context, c *client, service string, e entry, live kubeobj.Live, found, synced bool) (decision, error) {
	// The watches only know objects with our label, so read an object that they do
	// not have.
	if !synced || !found {
		var err error
		if live, found, err = lookAt(ctx, c, e); err != nil {
			return decisionWait, err
		}
	}
	for range 3 {
		what := guard(service, live, found)
		if what != decisionDelete {
			return what, nil
		}
		gone, err := c.remove(ctx, e.kind, e.ref, live.UID, live.ResourceVersion)
		switch {
		case err == nil && gone:
			return decisionGone, nil
		case err == nil:
			return decisionWait, nil
		case !apierrors.IsConflict(err):
			return decisionWait, err
		}
		// It changed meanwhile: judge its present state.
		if live, found, err = lookAt(ctx, c, e); err != nil {
			return decisionWait, err
		}
	}
	return decisionWait, nil
}

func lookAt(ctx context.Context, c *client, e entry) (kubeobj.Live, bool, error) {
	meta, err := c.get(ctx, e.kind, e.ref)
	if unserved(err) {
		return kubeobj.Live{}, false, nil
	}
	if err != nil || meta == nil {
		return kubeobj.Live{}, false, err
	}
	return kubeobj.Reduce(e.ref, meta), true, nil
}

// remark changes the marks of an object that is still the service's own.
func remark(ctx context.Context, c *client, service string, e entry, labels, annotations map[string]any) error {
	for range 3 {
		live, found, err := lookAt(ctx, c, e)
		if err != nil || !found || !live.Owned(service) {
			return err
		}
		meta := map[string]any{"uid": live.UID, "resourceVersion": live.ResourceVersion, "annotations": annotations}
		if labels != nil {
			meta["labels"] = labels
		}
		body, err := json.Marshal(map[string]any{"metadata": meta})
		if err != nil {
			return err
		}
		_, err = c.patch(ctx, e.kind, e.ref, types.MergePatchType, body)
		if !apierrors.IsConflict(err) {
			return err
		}
	}
	return nil
}

// unmark removes our marks from an object and keeps the object.
func unmark(ctx context.Context, c *client, service string, e entry) error {
	annotations := map[string]any{kubeobj.ServiceAnnotation: nil, kubeobj.TrackingAnnotation: nil}
	if e.ref.Group == kubeobj.OwningInventoryGroup {
		annotations[kubeobj.OwningInventory] = nil
	}
	return remark(ctx, c, service, e, map[string]any{kubeobj.ManagedLabel: nil}, annotations)
}
