package write

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/agent/apply/kubeclient"
	"github.com/axle-cd/axle/agent/apply/wave"
	"github.com/axle-cd/axle/agent/ignore"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// Fields left to others cannot simply be omitted from an apply: the API server
// deletes a field that only we owned and no longer send (twelve replicas become one).
// So we send the live value until another manager owns the field too, and omit it
// from then on.

const replicasPath = "/spec/replicas"

// BodyFor returns the body to apply to an existing object, and records in the item how
// it was filled.
func (w *Writer) BodyFor(ctx context.Context, it *wave.Item) ([]byte, error) {
	paths, scaled := w.leftToOthers(it)
	if len(paths) == 0 && !scaled {
		return it.Body, nil
	}
	var live map[string]any
	err := w.Client.Raw(ctx, kubeclient.Path(it.Kind, it.Ref.Namespace, it.Ref.Name), nil, &live)
	if apierrors.IsNotFound(err) {
		return it.Body, nil
	}
	if err != nil {
		return nil, err
	}
	managers := (&unstructured.Unstructured{Object: live}).GetManagedFields()
	if scaled && (w.Targets[it.Ref] || scaledByOthers(managers)) {
		paths = append(paths, replicasPath)
	}
	if len(paths) == 0 {
		return it.Body, nil
	}
	var desired map[string]any
	if err := json.Unmarshal(it.Body, &desired); err != nil {
		return nil, err
	}
	filled, err := ignore.Fill(desired, live, managers, paths)
	if err != nil {
		return nil, &Refusal{Message: fmt.Sprintf("apply %s: %v", it.Ref, err)}
	}
	it.Lost, it.Same = strings.Join(filled.Lost, ", "), filled.Same
	// The object must not have changed since it was read.
	if meta, ok := desired["metadata"].(map[string]any); ok {
		meta["resourceVersion"] = (&unstructured.Unstructured{Object: live}).GetResourceVersion()
	}
	return json.Marshal(desired)
}

// leftToOthers returns the ignored paths of an object, and whether other managers may
// scale it.
func (w *Writer) leftToOthers(it *wave.Item) (paths []string, scaled bool) {
	var head struct {
		Metadata struct{ Annotations map[string]string }
	}
	if bytes.Contains(it.Body, []byte("-fields")) {
		_ = json.Unmarshal(it.Body, &head)
	}
	paths = ignore.Paths(w.Service.Ignore, it.Ref, head.Metadata.Annotations)
	if it.Ref.IsSecret() {
		paths = secretPaths(paths)
	}
	if !bytes.Contains(it.Body, []byte(`"replicas"`)) {
		return paths, false
	}
	live, found, synced := w.live.Lookup(it.Kind, it.Ref)
	return paths, !synced || found && live.Print.Scaled || w.Targets[it.Ref]
}

// scaledByOthers reports whether a program scaled the object last. What a person
// scaled is put back by the next revision.
func scaledByOthers(all []metav1.ManagedFieldsEntry) bool {
	return slices.ContainsFunc(all, func(e metav1.ManagedFieldsEntry) bool {
		return e.Subresource == "scale" && !kubeobj.Human(e.Manager) && e.FieldsV1 != nil && bytes.Contains(e.FieldsV1.GetRawBytes(), []byte(`"f:replicas"`))
	})
}
