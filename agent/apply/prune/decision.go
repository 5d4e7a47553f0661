package prune

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/axle-cd/axle/agent/apply/inventory"
	"github.com/axle-cd/axle/agent/apply/kubeclient"
	"github.com/axle-cd/axle/agent/apply/wave"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// Decision is what a prune does with one object.
type Decision int

const (
	// Gone: it no longer exists.
	Gone Decision = iota
	// Delete: it is ours and may be deleted.
	Delete
	// Forget: it is no longer ours; leave it alone.
	Forget
	// Wait: it is already being deleted.
	Wait
	// Keep: it is ours, and a mark on the live object forbids to delete it. It is left
	// alone without our marks.
	Keep
)

// Guard decides from live annotations, never from labels, what may happen to an
// object of the inventory.
func Guard(service string, live kubeobj.Live, found bool) Decision {
	switch {
	case !found:
		return Gone
	case !live.Owned(service) || live.ApplySet != "":
		return Forget
	case live.Deleting:
		return Wait
	case live.Kept:
		return Keep
	}
	return Delete
}

// Prunable reports whether an object of the inventory may be deleted at all.
func Prunable(i *inventory.Inventory, e inventory.Entry) bool {
	switch {
	case e.Prune == wave.PruneAlways:
		return true
	case e.Prune == wave.PruneNever, wave.KeptKinds[e.Kind.GroupKind()]:
		return false
	}
	// If a mistake in the repository drops both a CRD and its objects, pruning the
	// object would delete people's data.
	crd := kubeobj.Ref{Group: wave.CRDKind.Group, Kind: wave.CRDKind.Kind, Name: e.Kind.Resource + "." + e.Kind.Group}
	_, same := i.Entries[crd]
	return !same
}

// Confirmation says which object asks by its annotations for a person's confirmation before
// it is deleted; empty if none does. Another service's objects are handed over.
func Confirmation(i *inventory.Inventory, leaving []inventory.Entry, handed func(kubeobj.Ref) bool) string {
	for _, e := range leaving {
		if e.Prune == wave.PruneConfirmed && !e.Hook.Runs && !handed(e.Ref) && Prunable(i, e) {
			return fmt.Sprintf("%s asks for a confirmation by its annotation (Prune=confirm or Delete=confirm)", e.Ref)
		}
	}
	return ""
}

// Dispose deletes one object if the guard allows it. decisionGone: it is gone. decisionWait:
// finalizers hold it. decisionForget: it was left alone.
func Dispose(ctx context.Context, c *kubeclient.Client, service string, e inventory.Entry, live kubeobj.Live, found, synced bool) (Decision, error) {
	// The watches only know objects with our label, so read an object that they do
	// not have.
	if !synced || !found {
		var err error
		if live, found, err = lookAt(ctx, c, e); err != nil {
			return Wait, err
		}
	}
	for range 3 {
		live.Kept = live.Kept && !e.Hook.Runs // a hook goes as its own policy says
		what := Guard(service, live, found)
		if what == Keep {
			return Forget, Unmark(ctx, c, service, e)
		}
		if what != Delete {
			return what, nil
		}
		gone, err := c.Remove(ctx, e.Kind, e.Ref, live.UID, live.ResourceVersion)
		switch {
		case err == nil && gone:
			return Gone, nil
		case err == nil:
			return Wait, nil
		case !apierrors.IsConflict(err):
			return Wait, err
		}
		// It changed meanwhile: judge its present state.
		if live, found, err = lookAt(ctx, c, e); err != nil {
			return Wait, err
		}
	}
	return Wait, nil
}

func lookAt(ctx context.Context, c *kubeclient.Client, e inventory.Entry) (kubeobj.Live, bool, error) {
	meta, err := c.Get(ctx, e.Kind, e.Ref)
	if kubeclient.Unserved(err) {
		return kubeobj.Live{}, false, nil
	}
	if err != nil || meta == nil {
		return kubeobj.Live{}, false, err
	}
	return kubeobj.Reduce(e.Ref, meta), true, nil
}

// Remark changes the marks of an object that is still the service's own.
func Remark(ctx context.Context, c *kubeclient.Client, service string, e inventory.Entry, labels, annotations map[string]any) error {
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
		_, err = c.Patch(ctx, e.Kind, e.Ref, types.MergePatchType, body)
		if !apierrors.IsConflict(err) {
			return err
		}
	}
	return nil
}

// Unmark removes our marks from an object and keeps the object.
func Unmark(ctx context.Context, c *kubeclient.Client, service string, e inventory.Entry) error {
	annotations := map[string]any{kubeobj.ServiceAnnotation: nil, kubeobj.TrackingAnnotation: nil}
	if e.Ref.Group == kubeobj.OwningInventoryGroup {
		annotations[kubeobj.OwningInventory] = nil
	}
	return Remark(ctx, c, service, e, map[string]any{kubeobj.ManagedLabel: nil}, annotations)
}

// HeldBy names the finalizers of an object that is being deleted, as the end of a sentence;
// empty if it has none or cannot be read.
func HeldBy(ctx context.Context, c *kubeclient.Client, e inventory.Entry) string {
	meta, err := c.Get(ctx, e.Kind, e.Ref)
	if err != nil || meta == nil || meta.DeletionTimestamp == nil {
		return ""
	}
	return kubeclient.HeldBy(meta.Finalizers)
}
