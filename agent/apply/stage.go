package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// establishLimit bounds the wait for a CRD before its objects are written.
const establishLimit = 30 * time.Second

var namespaceKind = kubeobj.Kind{Version: "v1", Kind: "Namespace", Resource: "namespaces"}

// prepareNamespace creates the service's namespace unless it is rendered.
func (r *run) prepareNamespace(ctx context.Context) error {
	ref := kubeobj.Ref{Kind: "Namespace", Name: r.service.Namespace}
	if len(r.plan.items) == 0 || r.plan.byRef[ref] != nil || r.namespaceStands() {
		return nil
	}
	err := r.makeNamespace(ctx, r.client, r.service)
	if away(err) {
		return unavailable(err)
	}
	if err != nil {
		r.result.Problems = append(r.result.Problems, Problem{Source: "apply", Ref: ref, Message: explain("make", ref, err)})
	}
	return nil
}

// namespaceStands reports whether the same settings were applied before and an object
// in the namespace still exists, so that the namespace must exist too.
func (r *run) namespaceStands() bool {
	if r.before.specDigest != r.service.SpecDigest && !r.before.asSettled(r.service) {
		return false
	}
	for _, it := range r.plan.items {
		if it.ref.Namespace == r.service.Namespace && r.unchanged(it, r.before.entries[it.ref]) && !it.once {
			return true
		}
	}
	return false
}

// makeNamespace creates the service's namespace if the service asks for it and it was
// not created or found before.
func (e *Engine) makeNamespace(ctx context.Context, c *client, service Service) error {
	if !service.CreateNamespace || service.Namespace == "" {
		return nil
	}
	add, err := namespaceBody(service, false)
	if err != nil {
		return err
	}
	e.mu.RLock()
	done := e.spaces[service.Namespace] == string(add)
	e.mu.RUnlock()
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
		e.mu.Lock()
		e.spaces[service.Namespace] = string(add)
		e.mu.Unlock()
	}
	return err
}

// namespaceLost makes the next pass look for the namespace again.
func (e *Engine) namespaceLost(namespace string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.spaces, namespace)
}

// namespaceBody is the body of a new namespace, or what is added to an existing one.
func namespaceBody(service Service, fresh bool) ([]byte, error) {
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

// waitDefinitions waits until the CRDs of a group are established, so that
// their objects can be written next. It returns how many are not.
func (r *run) waitDefinitions(ctx context.Context, group []*item) (failed int, err error) {
	ctx, cancel := context.WithTimeout(ctx, establishLimit)
	defer cancel()
	for _, it := range group {
		if it.kind.GroupKind() != crdKind || !r.next.entries[it.ref].fresh {
			continue
		}
		r.writer.newKinds[it.ref.Name] = true
		why, err := r.established(ctx, it)
		if err != nil {
			return failed, err
		}
		if why != "" {
			failed++
			r.result.Problems = append(r.result.Problems, Problem{Source: "apply", Ref: it.ref,
				Message: fmt.Sprintf("%s is not established within %v: %s", it.ref, establishLimit, why)})
		}
	}
	return failed, nil
}

func (r *run) established(ctx context.Context, it *item) (why string, err error) {
	backoff := jitter.Backoff{Min: 50 * time.Millisecond, Max: time.Second}
	for {
		var crd struct {
			Status struct {
				Conditions []struct{ Type, Status, Message string }
			}
		}
		err := r.client.raw(ctx, path(it.kind, "", it.ref.Name), nil, &crd)
		if err != nil && ctx.Err() == nil {
			if away(err) {
				return "", unavailable(err)
			}
			return serverMessage(err), nil
		}
		why = "the API server has not processed it yet"
		for _, c := range crd.Status.Conditions {
			if c.Type == "Established" && c.Status == "True" {
				return "", nil
			}
			if c.Status == "False" && c.Message != "" {
				why = c.Message
			}
		}
		if jitter.Wait(ctx, 10*time.Millisecond+backoff.Next()) != nil {
			return why, nil
		}
	}
}
