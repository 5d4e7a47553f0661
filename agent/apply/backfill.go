package apply

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/agent/ignore"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// Fields left to others cannot simply be omitted from an apply: the API server
// deletes a field that only we owned and no longer send (twelve replicas become one).
// So we send the live value until another manager owns the field too, and omit it
// from then on.

const replicasPath = "/spec/replicas"

// bodyFor returns the body to apply to an existing object.
func (w *writer) bodyFor(ctx context.Context, it *item) ([]byte, error) {
	paths, scaled := w.leftToOthers(it)
	if len(paths) == 0 && !scaled {
		return it.body, nil
	}
	var live map[string]any
	err := w.client.raw(ctx, path(it.kind, it.ref.Namespace, it.ref.Name), nil, &live)
	if apierrors.IsNotFound(err) {
		return it.body, nil
	}
	if err != nil {
		return nil, err
	}
	managers := (&unstructured.Unstructured{Object: live}).GetManagedFields()
	if scaled && (w.targets[it.ref] || scaledByOthers(managers)) {
		paths = append(paths, replicasPath)
	}
	if len(paths) == 0 {
		return it.body, nil
	}
	var desired map[string]any
	if err := json.Unmarshal(it.body, &desired); err != nil {
		return nil, err
	}
	if err := ignore.Fill(desired, live, managers, paths); err != nil {
		return nil, &refusal{message: fmt.Sprintf("apply %s: %v", it.ref, err)}
	}
	// The object must not have changed since it was read.
	if meta, ok := desired["metadata"].(map[string]any); ok {
		meta["resourceVersion"] = (&unstructured.Unstructured{Object: live}).GetResourceVersion()
	}
	return json.Marshal(desired)
}

// leftToOthers returns the ignored paths of an object, and whether other managers may
// scale it.
func (w *writer) leftToOthers(it *item) (paths []string, scaled bool) {
	var head struct {
		Metadata struct{ Annotations map[string]string }
	}
	if bytes.Contains(it.body, []byte("-fields")) {
		_ = json.Unmarshal(it.body, &head)
	}
	paths = ignore.Paths(w.service.Ignore, it.ref, head.Metadata.Annotations)
	if !bytes.Contains(it.body, []byte(`"replicas"`)) {
		return paths, false
	}
	live, found, synced := w.live.Lookup(it.kind, it.ref)
	return paths, !synced || found && live.Print.Scaled || w.targets[it.ref]
}

// scaledByOthers reports whether a program scaled the object last. What a person
// scaled is put back by the next revision.
func scaledByOthers(all []metav1.ManagedFieldsEntry) bool {
	return slices.ContainsFunc(all, func(e metav1.ManagedFieldsEntry) bool {
		return e.Subresource == "scale" && !kubeobj.Human(e.Manager) && e.FieldsV1 != nil && bytes.Contains(e.FieldsV1.GetRawBytes(), []byte(`"f:replicas"`))
	})
}
