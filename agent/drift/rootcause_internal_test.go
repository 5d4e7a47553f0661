package drift

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// What waits for something crashes a few times and then runs; what ends with an error
// again and again is told from that.
func TestCrashes(t *testing.T) {
	now := time.Unix(1e9, 0)
	for name, one := range map[string]struct {
		change func(*corev1.Pod, *corev1.ContainerStatus)
		want   bool
	}{
		"the fifth restart": {func(*corev1.Pod, *corev1.ContainerStatus) {}, true},
		"the fourth":        {func(_ *corev1.Pod, c *corev1.ContainerStatus) { c.RestartCount = crashRestarts - 1 }, false},
		"between two ends": {func(_ *corev1.Pod, c *corev1.ContainerStatus) {
			c.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
		}, true},
		"ready":                    {func(_ *corev1.Pod, c *corev1.ContainerStatus) { c.Ready = true }, false},
		"it ends without an error": {func(_ *corev1.Pod, c *corev1.ContainerStatus) { c.LastTerminationState.Terminated.ExitCode = 0 }, false},
		"long ago": {func(_ *corev1.Pod, c *corev1.ContainerStatus) {
			c.LastTerminationState.Terminated.FinishedAt = metav1.NewTime(now.Add(-crashRecent))
		}, false},
		"a pod that is meant to end": {func(p *corev1.Pod, _ *corev1.ContainerStatus) { p.Spec.RestartPolicy = corev1.RestartPolicyOnFailure }, false},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: corev1.PodStatus{Phase: corev1.PodRunning, Message: "m", ContainerStatuses: []corev1.ContainerStatus{{
				Name: "main", RestartCount: crashRestarts, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
				LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, FinishedAt: metav1.NewTime(now)}},
			}}}}
			one.change(pod, &pod.Status.ContainerStatuses[0])
			object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pod)
			if err != nil {
				t.Fatal(err)
			}
			if cause := worstPod([]map[string]any{object}, now); cause.crashes != one.want {
				t.Errorf("it crashes: %v, want %v; %q", cause.crashes, one.want, cause.text)
			}
		})
	}
}
