package apply

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

	"github.com/axle-cd/axle/agent/ignore"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// Fields that are left to others cannot just be left out of what is applied:
// the API server deletes a field that we owned alone and do not send any more
// (twelve replicas become one). So the live value is sent, until another
// manager owns the field too; then it is left out.

const replicasPath = "/spec/replicas"

// bodyFor is what is applied to an object that exists.
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
	// What was read must still be so when it is written.
	if meta, ok := desired["metadata"].(map[string]any); ok {
		meta["resourceVersion"] = (&unstructured.Unstructured{Object: live}).GetResourceVersion()
	}
	return json.Marshal(desired)
}

// leftToOthers lists the ignored paths of an object, and whether somebody else
// may scale it.
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
	live, found, synced := w.engine.cfg.Live.Lookup(it.kind, it.ref)
	return paths, !synced || found && live.Print.Scaled || w.targets[it.ref]
}

// scaledByOthers reports whether the last to scale was a program: what a person
// scaled is put back by the next revision.
func scaledByOthers(all []metav1.ManagedFieldsEntry) bool {
	return slices.ContainsFunc(all, func(e metav1.ManagedFieldsEntry) bool {
		return e.Subresource == "scale" && !kubeobj.Human(e.Manager) && e.FieldsV1 != nil && bytes.Contains(e.FieldsV1.GetRawBytes(), []byte(`"f:replicas"`))
	})
}

// targetsOf are the objects that the autoscalers of a plan aim at.
func targetsOf(p *plan) map[kubeobj.Ref]bool {
	var all map[kubeobj.Ref]bool
	for _, it := range p.items {
		if it.ref.Kind != "HorizontalPodAutoscaler" && it.ref.Kind != "ScaledObject" {
			continue
		}
		var scaler struct {
			Spec struct {
				ScaleTargetRef struct{ APIVersion, Kind, Name string }
			}
		}
		if json.Unmarshal(it.body, &scaler) != nil {
			continue
		}
		aim := scaler.Spec.ScaleTargetRef
		if aim.Kind == "" {
			aim.Kind, aim.APIVersion = "Deployment", "apps/v1"
		}
		group, _, _ := strings.Cut(aim.APIVersion, "/")
		if !strings.Contains(aim.APIVersion, "/") {
			group = ""
		}
		if all == nil {
			all = map[kubeobj.Ref]bool{}
		}
		all[kubeobj.Ref{Group: group, Kind: aim.Kind, Namespace: it.ref.Namespace, Name: aim.Name}] = true
	}
	return all
}
