package apply

import (
	"context"
	"encoding/json"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/axle-cd/axle/internal/kubeobj"
)

var namespaceKind = kubeobj.Kind{Version: "v1", Kind: "Namespace", Resource: "namespaces"}

// makeNamespace creates the service's namespace if the service asks for it and it was
// not created or found before.
func (s *shared) makeNamespace(ctx context.Context, c *client, service serviceInput) error {
	if !service.CreateNamespace || service.Namespace == "" {
		return nil
	}
	add, err := namespaceBody(service, false)
	if err != nil {
		return err
	}
	s.mu.Lock()
	done := s.spaces[service.Namespace] == string(add)
	s.mu.Unlock()
	if done {
		return nil
	}
	body, err := namespaceBody(service, true)
	if err != nil {
		return err
	}
	ref := kubeobj.Ref{Kind: "Namespace", Name: service.Namespace}
	_, err = c.apply(ctx, namespaceKind, ref, onlyCreate(body))
	if apierrors.IsConflict(err) {
		err = nil
		if len(service.NamespaceLabels)+len(service.NamespaceAnnotations) > 0 {
			_, err = c.patch(ctx, namespaceKind, ref, types.MergePatchType, add)
		}
	}
	if err == nil {
		s.mu.Lock()
		s.spaces[service.Namespace] = string(add)
		s.mu.Unlock()
	}
	return err
}

// namespaceLost makes the next pass look for the namespace again.
func (s *shared) namespaceLost(namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.spaces, namespace)
}

// namespaceBody is the body of a new namespace, or what is added to an existing one.
func namespaceBody(service serviceInput, fresh bool) ([]byte, error) {
	annotations := maps.Clone(service.NamespaceAnnotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	if fresh {
		annotations[kubeobj.CreatedForAnnotation] = service.ID
	}
	meta := map[string]any{"name": service.Namespace, "annotations": annotations}
	if len(service.NamespaceLabels) > 0 {
		meta["labels"] = service.NamespaceLabels
	}
	return json.Marshal(map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": meta})
}
