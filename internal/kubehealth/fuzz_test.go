package kubehealth_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/internal/kubehealth"
	"github.com/axle-cd/axle/internal/taken"
)

// FuzzObjects judges any object of any kind that has a rule.
func FuzzObjects(f *testing.F) {
	for _, kind := range []string{"v1 Pod", "v1 Service", "v1 PersistentVolumeClaim", "apps/v1 Deployment", "apps/v1 StatefulSet", "apps/v1 DaemonSet", "apps/v1 ReplicaSet", "batch/v1 Job",
		"networking.k8s.io/v1 Ingress", "autoscaling/v1 HorizontalPodAutoscaler", "autoscaling/v2 HorizontalPodAutoscaler", "apiregistration.k8s.io/v1 APIService", "argoproj.io/v1alpha1 Workflow", "example.com/v1 Other"} {
		f.Add(kind, `{"metadata":{"name":"a","generation":2},"spec":{"replicas":2},"status":{"observedGeneration":1,"phase":"Running","conditions":[{"type":"Ready","status":"False","reason":"a","message":"b"}],"containerStatuses":[{"name":"c","state":{"waiting":{"reason":"CrashLoopBackOff","message":"m"}},"lastState":{"terminated":{"exitCode":1}}}]}}`)
	}
	f.Add("autoscaling/v1 HorizontalPodAutoscaler", `{"metadata":{"annotations":{"autoscaling.alpha.kubernetes.io/conditions":"[{\"type\":\"AbleToScale\",\"status\":\"True\",\"message\":\"m\"},null,[],7]"}}}`)
	f.Add("apps/v1 Deployment", `{"spec":[],"status":{"conditions":{},"replicas":"two"}}`)
	f.Fuzz(func(t *testing.T, kind, text string) {
		object := &unstructured.Unstructured{}
		version, kind, _ := strings.Cut(kind, " ")
		if object.UnmarshalJSON([]byte(`{"apiVersion":"v1","kind":"a",`+"\"of\":"+text+`}`)) != nil {
			return
		}
		inner, ok := object.Object["of"].(map[string]any)
		if !ok {
			return
		}
		object.Object = inner
		object.SetAPIVersion(version)
		object.SetKind(kind)
		taken.Few(t, len(text), func() {
			if got := kubehealth.Of(object); got.Status == "" && got.Message != "" {
				t.Errorf("%+v", got)
			}
		})
	})
}
