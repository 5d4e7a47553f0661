package agent_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/axle-cd/axle/agent/health"
	"github.com/axle-cd/axle/test/kube"
)

// TestAutoscalersOfAnAPIServer: the API server moves conditions into an
// annotation when it is asked for version 1; both are judged alike.
func TestAutoscalersOfAnAPIServer(t *testing.T) {
	ctx, config := t.Context(), kube.Shared(t).Config()
	client, err := kubernetes.NewForConfig(config)
	needs(t, err)
	reader, err := dynamic.NewForConfig(config)
	needs(t, err)
	_, err = client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "scaling"}}, metav1.CreateOptions{})
	needs(t, ignoreExisting(err))
	scalers := client.AutoscalingV2().HorizontalPodAutoscalers("scaling")
	made, err := scalers.Create(ctx, &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "web-"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: 3,
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment", Name: "web"}},
	}, metav1.CreateOptions{})
	needs(t, err)
	able := autoscalingv2.HorizontalPodAutoscalerCondition{Type: autoscalingv2.AbleToScale, Status: corev1.ConditionTrue, Reason: "ReadyForNewScale"}
	blind := autoscalingv2.HorizontalPodAutoscalerCondition{Type: autoscalingv2.ScalingActive, Status: corev1.ConditionFalse, Reason: "FailedGetResourceMetric"}
	for _, test := range []struct {
		conditions []autoscalingv2.HorizontalPodAutoscalerCondition
		want       health.Status
	}{
		{nil, health.Progressing},
		{[]autoscalingv2.HorizontalPodAutoscalerCondition{able}, health.Healthy},
		{[]autoscalingv2.HorizontalPodAutoscalerCondition{able, blind}, health.Degraded},
	} {
		made.Status.Conditions = test.conditions
		made, err = scalers.UpdateStatus(ctx, made, metav1.UpdateOptions{})
		needs(t, err)
		for _, version := range []string{"v1", "v2"} {
			gvr := schema.GroupVersionResource{Group: "autoscaling", Version: version, Resource: "horizontalpodautoscalers"}
			live, err := reader.Resource(gvr).Namespace("scaling").Get(ctx, made.Name, metav1.GetOptions{})
			needs(t, err)
			if got := health.Of(live); got.Status != test.want {
				t.Errorf("%s: %+v, want %s", version, got, test.want)
			}
		}
	}
}
