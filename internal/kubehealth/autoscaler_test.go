package kubehealth_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/axle-cd/axle/internal/kubehealth"
)

// TestAutoscalers: version 1 keeps its conditions in an annotation, later ones
// in the status; both are judged alike.
func TestAutoscalers(t *testing.T) {
	type condition struct {
		Type    string `json:"type"`
		Status  string `json:"status"`
		Reason  string `json:"reason"`
		Message string `json:"message"`
	}
	able, limited := condition{"AbleToScale", "True", "ReadyForNewScale", ""}, condition{"ScalingLimited", "True", "TooFewReplicas", ""}
	for name, c := range map[string]struct {
		conditions []condition
		want       string
	}{
		"none":                            {nil, "Progressing"},
		"able":                            {[]condition{able}, "Healthy"},
		"at a limit":                      {[]condition{{"AbleToScale", "False", "BackoffBoth", ""}, limited}, "Healthy"},
		"waiting":                         {[]condition{{"AbleToScale", "False", "BackoffBoth", ""}, {"ScalingLimited", "False", "DesiredWithinRange", ""}}, "Progressing"},
		"scaled to none":                  {[]condition{able, {"ScalingActive", "False", "ScalingDisabled", ""}}, "Healthy"},
		"a kind of metric of tomorrow":    {[]condition{able, {"ScalingActive", "False", "InvalidMetricSourceType", ""}}, "Healthy"},
		"no target":                       {[]condition{{"AbleToScale", "False", "FailedGetScale", "no"}}, "Degraded"},
		"a target that does not take it":  {[]condition{{"AbleToScale", "False", "FailedUpdateScale", "no"}, limited}, "Degraded"},
		"no metric of a resource":         {[]condition{able, {"ScalingActive", "False", "FailedGetResourceMetric", "no"}}, "Degraded"},
		"no metric of an object":          {[]condition{able, {"ScalingActive", "False", "FailedGetObjectMetric", "no"}}, "Degraded"},
		"no metric of pods":               {[]condition{able, {"ScalingActive", "False", "FailedGetPodsMetric", "no"}}, "Degraded"},
		"no external metric":              {[]condition{able, {"ScalingActive", "False", "FailedGetExternalMetric", "no"}}, "Degraded"},
		"metrics that give no number":     {[]condition{able, {"ScalingActive", "False", "FailedComputeMetricsReplicas", "no"}}, "Degraded"},
		"a selector that selects nothing": {[]condition{able, {"ScalingActive", "False", "InvalidSelector", "no"}}, "Degraded"},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := json.Marshal(c.conditions)
			if err != nil {
				t.Fatal(err)
			}
			for _, version := range []string{"v2", "v2beta2"} {
				expect(t, fmt.Sprintf("apiVersion: autoscaling/%s\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}\nstatus: {conditions: %s}", version, list), kubehealth.Status(c.want))
			}
			expect(t, fmt.Sprintf("apiVersion: autoscaling/v1\nkind: HorizontalPodAutoscaler\nmetadata: {name: a, annotations: {autoscaling.alpha.kubernetes.io/conditions: '%s'}}", list), kubehealth.Status(c.want))
		})
	}
	expect(t, "apiVersion: autoscaling/v1\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}", progressing)
	expect(t, "apiVersion: autoscaling/v1\nkind: HorizontalPodAutoscaler\nmetadata: {name: a, annotations: {autoscaling.alpha.kubernetes.io/conditions: 'no list'}}", unknown)
}
