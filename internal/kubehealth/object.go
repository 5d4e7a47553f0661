package kubehealth

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func claim(object *unstructured.Unstructured) Result {
	switch phase := text(object, "status", "phase"); phase {
	case "Bound":
		return Result{Status: Healthy}
	case "Lost":
		return Result{Degraded, "the volume of the claim is lost"}
	case "Pending":
		return Result{Progressing, "the claim is not bound yet"}
	default:
		return Result{Unknown, fmt.Sprintf("the claim is in phase %q", phase)}
	}
}

func service(object *unstructured.Unstructured) Result {
	if text(object, "spec", "type") != "LoadBalancer" {
		return Result{Status: Healthy}
	}
	return balanced(object)
}

func balanced(object *unstructured.Unstructured) Result {
	list, _, _ := unstructured.NestedSlice(object.Object, "status", "loadBalancer", "ingress")
	if len(list) == 0 {
		return waiting("no address is assigned by a load balancer yet")
	}
	return Result{Status: Healthy}
}

func apiService(object *unstructured.Unstructured) Result {
	switch c := condition(object, "Available"); c.status {
	case "True":
		return Result{Healthy, c.message}
	case "False":
		return Result{Progressing, c.message}
	}
	return waiting("waiting to be processed")
}

// definition checks the conditions in their order: the first failed one counts.
func definition(object *unstructured.Unstructured) Result {
	list := conditions(object)
	if len(list) == 0 {
		return waiting("not processed yet")
	}
	there := false
	for _, c := range list {
		switch {
		case c.kind == "Terminating" && c.status == "True":
			return Result{Progressing, "pending deletion"}
		case c.kind == "NamesAccepted" && c.status == "False":
			return Result{Degraded, "names are not accepted: " + c.message}
		case c.kind == "NonStructuralSchema" && c.status == "True":
			return Result{Degraded, "the schema is not structural: " + c.message}
		case c.kind == "Established" && c.status == "True":
			there = true
		case c.kind == "Established" && c.reason == "Installing":
			return waiting("not established yet")
		}
	}
	if !there {
		return Result{Degraded, "not established"}
	}
	return Result{Status: Healthy}
}

// budget is healthy if no pod may be evicted now, which is its purpose.
func budget(object *unstructured.Unstructured) Result {
	result := waiting("not processed yet")
	for _, c := range conditions(object) {
		if c.status == "False" && c.reason != "InsufficientPods" {
			return Result{Degraded, c.reason + ": " + c.message}
		}
		result = Result{Healthy, c.message}
	}
	return result
}

// workflow judges Argo's kind, which Argo CD judges without a script.
func workflow(object *unstructured.Unstructured) Result {
	message := text(object, "status", "message")
	switch text(object, "status", "phase") {
	case "", "Pending", "Running":
		return Result{Progressing, message}
	case "Succeeded":
		return Result{Healthy, message}
	case "Failed", "Error":
		return Result{Degraded, message}
	}
	return Result{Unknown, message}
}

func namespace(object *unstructured.Unstructured) Result {
	if text(object, "status", "phase") == "Terminating" {
		return Result{Progressing, "pending deletion"}
	}
	return Result{Status: Healthy}
}

func waiting(format string, args ...any) Result {
	return Result{Progressing, fmt.Sprintf(format, args...)}
}

type cond struct{ kind, status, reason, message string }

// Condition returns the parts of a condition; they are empty if there is none of the
// type.
func Condition(object *unstructured.Unstructured, kind string) (status, reason, message string) {
	c := condition(object, kind)
	return c.status, c.reason, c.message
}

func conditions(object *unstructured.Unstructured) []cond {
	value, _, _ := unstructured.NestedFieldNoCopy(object.Object, "status", "conditions")
	list, _ := value.([]any)
	return readConditions(list)
}

func readConditions(list []any) []cond {
	var all []cond
	for _, item := range list {
		m, ok := item.(map[string]any)
		if !ok {
			continue
		}
		get := func(key string) string { s, _ := m[key].(string); return s }
		all = append(all, cond{get("type"), get("status"), get("reason"), get("message")})
	}
	return all
}

func condition(object *unstructured.Unstructured, kind string) cond {
	for _, c := range conditions(object) {
		if c.kind == kind {
			return c
		}
	}
	return cond{}
}

// Observed reports whether the status belongs to the present specification.
func Observed(object *unstructured.Unstructured) bool { return observed(object) }

// observed is true for objects that do not report an observed generation.
func observed(object *unstructured.Unstructured) bool {
	value, found := field(object, "status", "observedGeneration")
	if !found {
		return object.GetGeneration() == 0 || !needsObserved[object.GetKind()]
	}
	return value >= object.GetGeneration()
}

// needsObserved are kinds whose controller always reports the observed generation.
var needsObserved = map[string]bool{"Deployment": true, "StatefulSet": true, "DaemonSet": true, "ReplicaSet": true}

func wanted(object *unstructured.Unstructured) int64 {
	if n, ok := field(object, "spec", "replicas"); ok {
		return n
	}
	return 1
}

func number(object *unstructured.Unstructured, path ...string) int64 {
	n, _ := field(object, path...)
	return n
}

// field reads a number as decoded by JSON and YAML decoders.
func field(object *unstructured.Unstructured, path ...string) (int64, bool) {
	value, found, _ := unstructured.NestedFieldNoCopy(object.Object, path...)
	if !found {
		return 0, false
	}
	switch n := value.(type) {
	case int64:
		return n, true
	case int:
		return int64(n), true
	case int32:
		return int64(n), true
	case float64:
		return int64(n), true
	case json.Number:
		i, err := n.Int64()
		return i, err == nil
	}
	return 0, false
}

func text(object *unstructured.Unstructured, path ...string) string {
	s, _, _ := unstructured.NestedString(object.Object, path...)
	return s
}

func flag(object *unstructured.Unstructured, path ...string) bool {
	b, _, _ := unstructured.NestedBool(object.Object, path...)
	return b
}
