package kubehealth

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// rule judges one kind.
type rule func(object *unstructured.Unstructured) Result

var rules = map[schema.GroupKind]rule{
	{Group: "apps", Kind: "Deployment"}:                               deployment,
	{Group: "apps", Kind: "StatefulSet"}:                              statefulSet,
	{Group: "apps", Kind: "DaemonSet"}:                                daemonSet,
	{Group: "apps", Kind: "ReplicaSet"}:                               replicaSet,
	{Kind: "Pod"}:                                                     pod,
	{Group: "batch", Kind: "Job"}:                                     job,
	{Group: "batch", Kind: "CronJob"}:                                 cronJob,
	{Kind: "PersistentVolumeClaim"}:                                   claim,
	{Kind: "Service"}:                                                 service,
	{Group: "networking.k8s.io", Kind: "Ingress"}:                     balanced,
	{Group: "extensions", Kind: "Ingress"}:                            balanced,
	{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}:           autoscaler,
	{Group: "apiregistration.k8s.io", Kind: "APIService"}:             apiService,
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: definition,
	{Group: "policy", Kind: "PodDisruptionBudget"}:                    budget,
	{Group: "argoproj.io", Kind: "Workflow"}:                          workflow,
	{Kind: "Namespace"}:                                               namespace,
}

// plain are the groups whose other kinds have no health: they are healthy once they
// exist.
var plain = map[string]bool{
	"": true, "apps": true, "batch": true, "autoscaling": true, "policy": true, "networking.k8s.io": true,
	"rbac.authorization.k8s.io": true, "storage.k8s.io": true, "scheduling.k8s.io": true,
	"admissionregistration.k8s.io": true, "coordination.k8s.io": true, "node.k8s.io": true,
	"discovery.k8s.io": true, "events.k8s.io": true, "certificates.k8s.io": true,
	"apiextensions.k8s.io": true, "apiregistration.k8s.io": true, "flowcontrol.apiserver.k8s.io": true,
}

// HasRule reports whether there is a rule for exactly this kind.
func HasRule(kind schema.GroupKind) bool { return rules[kind] != nil }

// Plain reports whether the group is one of Kubernetes' own, in which kinds without a
// rule are healthy once they exist.
func Plain(group string) bool { return plain[group] }

// Of judges an object by the rule of its kind. For kinds without a rule (see HasRule)
// it only knows that the object exists.
func Of(object *unstructured.Unstructured) Result {
	if object.GetDeletionTimestamp() != nil {
		return Result{Status: Progressing, Message: "pending deletion"}
	}
	judge := rules[object.GroupVersionKind().GroupKind()]
	if judge == nil {
		return Result{Status: Healthy}
	}
	return judge(Integral(object))
}

// Integral converts the numbers of a plain YAML or JSON decoder to integers, as
// Kubernetes' own decoders return them. It returns objects of those unchanged.
func Integral(object *unstructured.Unstructured) *unstructured.Unstructured {
	for _, path := range [][]string{{"metadata", "generation"}, {"status", "observedGeneration"}} {
		value, _, _ := unstructured.NestedFieldNoCopy(object.Object, path...)
		if _, float := value.(float64); float {
			fixed, _ := integers(object.Object).(map[string]any)
			return &unstructured.Unstructured{Object: fixed}
		}
	}
	return object
}

func integers(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, inner := range v {
			out[key] = integers(inner)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for n, inner := range v {
			out[n] = integers(inner)
		}
		return out
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	}
	return value
}
