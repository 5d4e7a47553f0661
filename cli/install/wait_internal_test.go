package install

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A pod that cannot start ends the wait; the failed pod of an earlier revision, which is on its way out, does not.
func TestPodsOnTheirWayOutEndNoWait(t *testing.T) {
	pod := func(container map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"containerStatuses": []any{container}}}}
	}
	waiting := func(reason string) map[string]any {
		return map[string]any{"state": map[string]any{"waiting": map[string]any{"reason": reason}}}
	}
	for name, container := range map[string]map[string]any{
		"not pulled": waiting("ErrImagePull"), "pulled later": waiting("ImagePullBackOff"), "without its Secret": waiting("CreateContainerConfigError"),
		"ended often": {"restartCount": int64(enoughRestarts)},
	} {
		p := pod(container)
		if !cannotStart(p) {
			t.Errorf("%s: it may start", name)
		}
		now := metav1.Now()
		p.SetDeletionTimestamp(&now)
		if cannotStart(p) {
			t.Errorf("%s: it ends the wait although it is being deleted", name)
		}
	}
	if cannotStart(pod(waiting("ContainerCreating"))) || cannotStart(pod(map[string]any{"restartCount": int64(enoughRestarts - 1)})) {
		t.Error("a pod that starts ends the wait")
	}
}
