package write

import (
	"context"
	"encoding/json"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/axle-cd/axle/agent/apply/kubeclient"
	"github.com/axle-cd/axle/agent/apply/plan"
	"github.com/axle-cd/axle/internal/kubeobj"
)

var NamespaceKind = kubeobj.Kind{Version: "v1", Kind: "Namespace", Resource: "namespaces"}

// MakeNamespace creates the service's namespace if the service asks for it and it was
// not created or found before.
func (s *Common) MakeNamespace(ctx context.Context, c *kubeclient.Client, service plan.Service) error {
	if !service.CreateNamespace || service.Namespace == "" {
		return nil
	}
	add, err := NamespaceBody(service, false)
	if err != nil {
		return err
	}
	s.mu.Lock()
	done := s.spaces[service.Namespace] == string(add)
	s.mu.Unlock()
	if done {
		return nil
	}
	body, err := NamespaceBody(service, true)
	if err != nil {
		return err
	}
	ref := kubeobj.Ref{Kind: "Namespace", Name: service.Namespace}
	_, err = c.Apply(ctx, NamespaceKind, ref, OnlyCreate(body))
	if apierrors.IsConflict(err) {
		err = nil
		if len(service.NamespaceLabels)+len(service.NamespaceAnnotations) > 0 {
			_, err = c.Patch(ctx, NamespaceKind, ref, types.MergePatchType, add)
		}
	}
	if err == nil {
		s.mu.Lock()
		s.spaces[service.Namespace] = string(add)
		s.mu.Unlock()
	}
	return err
}

// NamespaceLost makes the next pass look for the namespace again.
func (s *Common) NamespaceLost(namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.spaces, namespace)
}

// NamespaceBody is the body of a new namespace, or what is added to an existing one.
func NamespaceBody(service plan.Service, fresh bool) ([]byte, error) {
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
