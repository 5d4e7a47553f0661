package clusterapi

import (
	"context"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// standardPolicy is the name of the policy of the agent in the standard namespace.
	standardPolicy = "axle-capi-clusters"
	// enforcedAfter is how long all API servers may take to enforce a new policy: they look
	// each second.
	enforcedAfter = 5 * time.Second
)

// policyName is that of the policy and of its binding. The agents of several hubs on one cluster
// have one each: those of two versions would replace each other's for ever.
func (c *Clusters) policyName() string {
	if c.config.Namespace == agentNamespace || c.config.Namespace == "" {
		return standardPolicy
	}
	return standardPolicy + "-" + c.config.Namespace
}

// policy is the one place that decides who may have this agent use credentials of Cluster API:
// the API server itself, when an object is written, about whoever writes it. The agent could
// not find out later who that was.
func policy() admissionv1.ValidatingAdmissionPolicySpec {
	readable := func(name string) string {
		return "authorizer.group('').resource('secrets').namespace(object.metadata.namespace).name(" + name + ").check('get').allowed()"
	}
	forbidden, fail, equivalent, all := metav1.StatusReasonForbidden, admissionv1.Fail, admissionv1.Equivalent, admissionv1.AllScopes
	return admissionv1.ValidatingAdmissionPolicySpec{
		FailurePolicy: &fail,
		MatchConstraints: &admissionv1.MatchResources{
			MatchPolicy: &equivalent, NamespaceSelector: &metav1.LabelSelector{}, ObjectSelector: &metav1.LabelSelector{},
			ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
				Rule:       admissionv1.Rule{APIGroups: []string{objects.Group}, APIVersions: []string{"*"}, Resources: []string{objects.Resource}, Scope: &all},
			}}},
		},
		MatchConditions: []admissionv1.MatchCondition{{Name: "spec", Expression: "oldObject == null || object.spec != oldObject.spec"}},
		Validations: []admissionv1.Validation{
			{
				Expression: "has(object.spec.capiClusterRef.name) && object.spec.capiClusterRef.name != '' && " + readable("object.spec.capiClusterRef.name + '"+kubeconfigSuffix+"'"),
				Message:    "spec.capiClusterRef: a Cluster is connected by those who may read its Secret with the suffix " + kubeconfigSuffix + " in this namespace, because that makes them its administrators",
				Reason:     &forbidden,
			},
			{
				Expression: "has(object.spec.consoleTokenSecretRef.name) && object.spec.consoleTokenSecretRef.name != '' && " + readable("object.spec.consoleTokenSecretRef.name"),
				Message:    "spec.consoleTokenSecretRef: a token is used by those who may read its Secret in this namespace",
				Reason:     &forbidden,
			},
		},
	}
}

// enforce returns since when the policy is enforced. One that differs from ours is made anew,
// and so are then the objects of before: nobody decided about them.
func (f *Finder) enforce(ctx context.Context) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	api, policyName := f.clusters.config.Client.AdmissionregistrationV1(), f.clusters.policyName()
	policies, bindings := api.ValidatingAdmissionPolicies(), api.ValidatingAdmissionPolicyBindings()
	have, err := policies.Get(ctx, policyName, metav1.GetOptions{})
	if err == nil && !equality.Semantic.DeepEqual(have.Spec, policy()) {
		err = policies.Delete(ctx, policyName, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(have.UID))})
		have = nil
	}
	if apierrors.IsNotFound(err) || err == nil && have == nil {
		have, err = policies.Create(ctx, &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: policyName}, Spec: policy()}, metav1.CreateOptions{FieldManager: agentName})
	}
	if err != nil {
		return time.Time{}, f.unenforced(err)
	}
	deny := admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: policyName, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}}
	bound, err := bindings.Get(ctx, policyName, metav1.GetOptions{})
	if err == nil && !equality.Semantic.DeepEqual(bound.Spec, deny) {
		err = bindings.Delete(ctx, policyName, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(bound.UID))})
		bound = nil
	}
	if apierrors.IsNotFound(err) || err == nil && bound == nil {
		bound, err = bindings.Create(ctx, &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: policyName}, Spec: deny}, metav1.CreateOptions{FieldManager: agentName})
	}
	if err != nil {
		return time.Time{}, f.unenforced(err)
	}
	return later(have.CreationTimestamp.Time, bound.CreationTimestamp.Time).Add(enforcedAfter), nil
}

func (f *Finder) unenforced(err error) error {
	return errcode.New(errcode.Unavailable, "the agent cannot have the API server decide who may connect clusters (ValidatingAdmissionPolicy %s, Kubernetes 1.30 or newer): %w", f.clusters.policyName(), err)
}
