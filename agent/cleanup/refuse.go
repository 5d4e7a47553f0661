package cleanup

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// refusal is the name of the policy that refuses new objects, and manager writes it.
const (
	refusal = "cleanup.axle-cd.github.io"
	manager = "axle-agent"
)

// rule refuses what is made and what becomes a load balancer. Changes of others go on:
// controllers take their finalizers off.
const rule = `request.operation == "CREATE" ? object.kind == "Service" && object.spec.?type.orValue("") != "LoadBalancer" : object.kind != "Service" || object.spec.?type.orValue("") != "LoadBalancer" || oldObject.spec.?type.orValue("") == "LoadBalancer"`

// refuse makes the API server refuse new objects of the kinds that are removed: whatever
// reconciles them would make them again. An API server without policies (before 1.30) refuses
// nothing; then it ends when nothing makes them any more.
func (c *Cleaner) refuse(ctx context.Context) error {
	on := func(group, resource string) map[string]any {
		return map[string]any{"apiGroups": []any{group}, "apiVersions": []any{"*"}, "operations": []any{"CREATE", "UPDATE"}, "resources": []any{resource}}
	}
	err := c.put(ctx, "ValidatingAdmissionPolicy", "validatingadmissionpolicies", map[string]any{
		"failurePolicy":    "Fail",
		"matchConstraints": map[string]any{"resourceRules": []any{on("", services.Resource), on("", claims.Resource), on(ingresses.Group, ingresses.Resource), on(gateways.Group, gateways.Resource)}},
		"validations":      []any{map[string]any{"expression": rule, "message": "this cluster is being destroyed, and gets no new load balancers and volumes"}},
	})
	if err == nil {
		err = c.put(ctx, "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", map[string]any{
			"policyName": refusal, "validationActions": []any{"Deny"},
		})
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (c *Cleaner) put(ctx context.Context, kind, resource string, spec map[string]any) error {
	group := schema.GroupVersion{Group: "admissionregistration.k8s.io", Version: "v1"}
	_, err := c.config.Dynamic.Resource(group.WithResource(resource)).Apply(ctx, refusal, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group.String(), "kind": kind, "metadata": map[string]any{"name": refusal}, "spec": spec,
	}}, metav1.ApplyOptions{FieldManager: manager, Force: true})
	return err
}
