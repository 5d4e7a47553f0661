package kubehealth

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// autoscalerConditions is where version 1, whose status has no conditions, keeps them
// as JSON.
const autoscalerConditions = "autoscaling.alpha.kubernetes.io/conditions"

// failing are the reasons of conditions that do not resolve by themselves, whatever
// the condition's status.
var failing = map[string][]string{
	"AbleToScale": {"FailedGetScale", "FailedUpdateScale"},
	"ScalingActive": {"FailedGetResourceMetric", "FailedGetObjectMetric", "FailedGetPodsMetric", "FailedGetExternalMetric",
		"FailedComputeMetricsReplicas", "InvalidSelector"},
}

func autoscaler(object *unstructured.Unstructured) Result {
	list := conditions(object)
	if object.GroupVersionKind().Version == "v1" {
		var value []any
		if raw, ok := object.GetAnnotations()[autoscalerConditions]; ok {
			if err := json.Unmarshal([]byte(raw), &value); err != nil {
				return Result{Unknown, "the annotation " + autoscalerConditions + " cannot be read: " + err.Error()}
			}
		}
		list = readConditions(value)
	}
	for _, c := range list {
		if slices.Contains(failing[c.kind], c.reason) {
			return Result{Degraded, c.message}
		}
	}
	for _, c := range list {
		if c.status == "True" && (c.kind == "AbleToScale" || c.kind == "ScalingLimited") {
			return Result{Healthy, c.message}
		}
	}
	return waiting("waiting to autoscale")
}
