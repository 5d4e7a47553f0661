package drift_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/test/kube"
)

// TestAWorkloadSaysWhyItIsNotWell: the reason of its first failing pod is in its
// message, and disappears when the workload is healthy.
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

	// It was available, so that Kubernetes waits without end: it is the pod that tells.
	looping, err := pods.Get(t.Context(), "b", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	looping.Status.Phase = corev1.PodRunning
	looping.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "main", RestartCount: 5, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 2m40s"}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, FinishedAt: metav1.Now()}},
	}}
	if _, err := pods.UpdateStatus(t.Context(), looping, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if web, err = apps.Get(t.Context(), "web", metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	web.Status.AvailableReplicas, web.Status.ReadyReplicas = 0, 0
	if _, err := apps.UpdateStatus(t.Context(), web, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	is("Degraded", "0 of 1 updated replicas are available; ReplicaSet web-1, Pod b: CrashLoopBackOff: back-off 2m40s")
}

// A HelmRelease of Flux says which of its workloads is unhealthy, and the reason of
// that workload's pod, although nothing of the release is in one of our inventories.
func TestAReleaseSaysWhichWorkloadIsNotWell(t *testing.T) {
	t.Parallel()
	cluster := kube.Shared(t)
	b := newBed(t, cluster, cluster.Config())
	client, err := dynamic.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	read := func(text string) *unstructured.Unstructured {
		t.Helper()
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatal(err)
		}
		return o
	}
	crds := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	if _, err := crds.Apply(t.Context(), "helmreleases.helm.toolkit.fluxcd.io", read(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: helmreleases.helm.toolkit.fluxcd.io}
spec:
  group: helm.toolkit.fluxcd.io
  names: {kind: HelmRelease, plural: helmreleases, singular: helmrelease, listKind: HelmReleaseList}
  scope: Namespaced
  versions: [{name: v2, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`), metav1.ApplyOptions{FieldManager: "test", Force: true}); err != nil {
		t.Fatal(err)
	}
	kind := kubeobj.Kind{Group: "helm.toolkit.fluxcd.io", Version: "v2", Kind: "HelmRelease", Resource: "helmreleases", Namespaced: true}
	ref := kubeobj.Ref{Group: kind.Group, Kind: kind.Kind, Namespace: b.spaces, Name: "shop"}
	target := cluster.Namespace(t)
	releases := client.Resource(kind.GVR()).Namespace(b.spaces)
	release := read(fmt.Sprintf(`{"apiVersion":"helm.toolkit.fluxcd.io/v2","kind":"HelmRelease","metadata":{"name":"shop","labels":{%q:"c"},"annotations":{%q:"s",%q:%q}},
		"spec":{"targetNamespace":%q}}`, kubeobj.ManagedLabel, kubeobj.ServiceAnnotation, kubeobj.TrackingAnnotation, ref.Tracking(), target))
	eventually.For(t, time.Minute, "the release is made", func() error {
		_, err := releases.Apply(t.Context(), "shop", release, metav1.ApplyOptions{FieldManager: kubeobj.FieldManager, Force: true})
		return err
	})
	if _, err := releases.Patch(t.Context(), "shop", types.MergePatchType,
		[]byte(`{"status":{"conditions":[{"type":"Ready","status":"Unknown","reason":"Progressing","message":"running the install"}]}}`), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	deployments := client.Resource(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}).Namespace(target)
	for name, labels := range map[string]string{
		"api":   `{"helm.toolkit.fluxcd.io/name":"shop","helm.toolkit.fluxcd.io/namespace":"` + b.spaces + `"}`,
		"alien": `{"helm.toolkit.fluxcd.io/name":"shop","helm.toolkit.fluxcd.io/namespace":"elsewhere"}`,
	} {
		object := read(fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":%q,"labels":%s},"spec":{"selector":{"matchLabels":{"app":%[1]q}},
			"template":{"metadata":{"labels":{"app":%[1]q}},"spec":{"containers":[{"name":"main","image":"none"}]}}}}`, name, labels))
		if _, err := deployments.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	pods := b.admin.CoreV1().Pods(target)
	made, err := pods.Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "api-1", Labels: map[string]string{"app": "api"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "none"}}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	made.Status.Phase = corev1.PodPending
	made.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "of image none"}}}}
	if _, err := pods.UpdateStatus(t.Context(), made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w := b.start()
	w.Watch([]kubeobj.Kind{kind})
	const want = "Deployment api: the new specification is not observed yet; Pod api-1: ImagePullBackOff: of image none"
	eventually.For(t, time.Minute, "the release names its workload", func() error {
		c := w.Components([]kubeobj.Expected{{Ref: ref, Kind: kind, Service: "s"}})[0]
		if c.GetHealth() != "Progressing" || !strings.HasSuffix(c.GetMessage(), want) {
			return fmt.Errorf("it is %s: %s", c.GetHealth(), c.GetMessage())
		}
		return nil
	})
}
