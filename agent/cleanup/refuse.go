package cleanup

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/axle-cd/axle/internal/logkey"
)

// refusal is the name of the policy that refuses new objects, and manager writes it.
const (
	refusal = "cleanup.axle-cd.github.io"
	manager = "axle-agent"
)

var (
	policies = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"}
	bindings = schema.GroupVersionResource{Group: policies.Group, Version: policies.Version, Resource: "validatingadmissionpolicybindings"}
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
	err := c.put(ctx, "ValidatingAdmissionPolicy", policies, map[string]any{
		"failurePolicy":    "Fail",
		"matchConstraints": map[string]any{"resourceRules": []any{on("", services.Resource), on("", claims.Resource), on(ingresses.Group, ingresses.Resource), on(gateways.Group, gateways.Resource)}},
		"validations":      []any{map[string]any{"expression": rule, "message": "this cluster is being destroyed, and gets no new load balancers and volumes"}},
	})
	if err == nil {
		err = c.put(ctx, "ValidatingAdmissionPolicyBinding", bindings, map[string]any{
			"policyName": refusal, "validationActions": []any{"Deny"},
		})
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// admit ends the refusal of new objects, and returns whether there is none left that this
// agent could remove. The policy goes last, so what was interrupted is repeated.
func (c *Cleaner) admit(ctx context.Context) bool {
	_, err := c.config.Dynamic.Resource(policies).Get(ctx, refusal, metav1.GetOptions{})
	if err == nil {
		if err = c.config.Dynamic.Resource(bindings).Delete(ctx, refusal, metav1.DeleteOptions{}); err == nil || apierrors.IsNotFound(err) {
			err = c.config.Dynamic.Resource(policies).Delete(ctx, refusal, metav1.DeleteOptions{})
		}
	}
	switch {
	case err == nil:
		c.config.Log.Info("new load balancers and volumes are no longer refused, because this cluster is not being destroyed")
	case !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err):
		c.config.Log.Warn("cannot end the refusal of new load balancers and volumes", logkey.Error, err)
		return false
	}
	return true
}

func (c *Cleaner) put(ctx context.Context, kind string, resource schema.GroupVersionResource, spec map[string]any) error {
	_, err := c.config.Dynamic.Resource(resource).Apply(ctx, refusal, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": resource.GroupVersion().String(), "kind": kind, "metadata": map[string]any{"name": refusal}, "spec": spec,
	}}, metav1.ApplyOptions{FieldManager: manager, Force: true})
	return err
}
