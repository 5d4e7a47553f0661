package drift_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/test/kube"
)

// TestAWorkloadSaysWhyItIsNotWell: the reason of its first failing pod stands
// in its message, and goes when the workload is well.
func TestAWorkloadSaysWhyItIsNotWell(t *testing.T) {
	t.Parallel()
	cluster := kube.Shared(t)
	b := newBed(t, cluster, cluster.Config())
	kind := kubeobj.Kind{Group: "apps", Version: "v1", Kind: "Deployment", Resource: "deployments", Namespaced: true}
	ref := kubeobj.Ref{Group: "apps", Kind: "Deployment", Namespace: b.spaces, Name: "web"}
	body := fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","labels":{%q:"c"},"annotations":{%q:"s",%q:%q}},
		"spec":{"replicas":1,"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"main","image":"none"}]}}}}`,
		kubeobj.ManagedLabel, kubeobj.ServiceAnnotation, kubeobj.TrackingAnnotation, ref.Tracking())
	apps := b.admin.AppsV1().Deployments(b.spaces)
	web, err := apps.Patch(t.Context(), "web", types.ApplyPatchType, []byte(body), metav1.PatchOptions{FieldManager: kubeobj.FieldManager})
	if err != nil {
		t.Fatal(err)
	}
	yes := true
	pods := b.admin.CoreV1().Pods(b.spaces)
	pod := func(name, reason string) {
		t.Helper()
		made, err := pods.Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "web"}, OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-1", UID: "u", Controller: &yes}}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "none"}}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		made.Status.Phase = corev1.PodPending
		made.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "of image none"}}}}
		if _, err := pods.UpdateStatus(t.Context(), made, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	pod("a", "ContainerCreating")
	pod("b", "ImagePullBackOff")
	w := b.start()
	w.Watch([]kubeobj.Kind{kind})
	is := func(health, message string) {
		t.Helper()
		eventually.For(t, time.Minute, message, func() error {
			c := w.Components([]kubeobj.Expected{{Ref: ref, Kind: kind, Service: "s"}})[0]
			if c.GetHealth() != health || c.GetMessage() != message {
				return fmt.Errorf("it is %s: %s", c.GetHealth(), c.GetMessage())
			}
			return nil
		})
	}
	is("Progressing", "the new specification is not observed yet; ReplicaSet web-1, Pod b: ImagePullBackOff: of image none")
	web.Status.ObservedGeneration, web.Status.Replicas, web.Status.UpdatedReplicas, web.Status.AvailableReplicas, web.Status.ReadyReplicas = web.Generation, 1, 1, 1, 1
	if _, err := apps.UpdateStatus(t.Context(), web, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	is("Healthy", "")
}
