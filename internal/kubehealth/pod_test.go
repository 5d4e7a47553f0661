package kubehealth_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/internal/kubehealth"
)

// TestPods: a Pod that is started again and again is judged at once, one that
// has an end is not judged before it.
func TestPods(t *testing.T) {
	const waits = "status: {phase: %s, %s: [{name: a, state: {waiting: {reason: %s, message: why}}}]}"
	stuck := func(phase, reason string) string { return fmt.Sprintf(waits, phase, "containerStatuses", reason) }
	ready := "status: {phase: Running, conditions: [{type: Ready, status: 'True'}]}"
	ended := "status: {phase: Running, containerStatuses: [{name: a, state: {running: {}}, lastState: {terminated: {exitCode: 1}}}]}"
	const ignore = "argocd.argoproj.io/ignore-restart-policy: 'true'"
	for _, c := range []struct {
		name, policy, annotations, status string
		want                              kubehealth.Status
	}{
		{"waiting", "Always", "", "status: {phase: Pending}", progressing},
		{"no phase", "Always", "", "status: {}", unknown},
		{"crashing", "Always", "", stuck("Running", "CrashLoopBackOff"), degraded},
		{"no image", "Always", "", stuck("Pending", "ImagePullBackOff"), degraded},
		{"no image at first", "Always", "", stuck("Pending", "ErrImagePull"), degraded},
		{"no configuration", "Always", "", stuck("Pending", "CreateContainerConfigError"), degraded},
		{"an error of tomorrow", "Always", "", stuck("Pending", "PostStartHookError"), degraded},
		{"an image's name is wrong", "Always", "", stuck("Pending", "InvalidImageName"), progressing},
		{"a container is made", "Always", "", stuck("Pending", "ContainerCreating"), progressing},
		{"an init container crashes", "Always", "", fmt.Sprintf(waits, "Pending", "initContainerStatuses", "CrashLoopBackOff"), progressing},
		{"ready", "Always", "", ready, healthy},
		{"no policy is Always", "", "", ready, healthy},
		{"not ready", "Always", "", "status: {phase: Running}", progressing},
		{"not ready after an end", "Always", "", ended, degraded},
		{"not ready after an init container's second try", "Always", "", "status: {phase: Running, initContainerStatuses: [{name: a, lastState: {terminated: {exitCode: 1}}}]}", progressing},

		{"with an end, running", "OnFailure", "", ready, progressing},
		{"with an end, crashing", "OnFailure", "", stuck("Running", "CrashLoopBackOff"), progressing},
		{"with an end, no image", "OnFailure", "", stuck("Pending", "ImagePullBackOff"), progressing},
		{"with an end, no configuration", "OnFailure", "", stuck("Pending", "CreateContainerConfigError"), progressing},
		{"with an end, started again", "OnFailure", "", ended, progressing},
		{"of a single try, no image", "Never", "", stuck("Pending", "ImagePullBackOff"), progressing},
		{"of a single try, running", "Never", "", ready, progressing},

		{"as if without an end, ready", "OnFailure", ignore, ready, healthy},
		{"as if without an end, of a single try", "Never", ignore, ready, healthy},
		{"as if without an end, no image", "Never", ignore, stuck("Pending", "ImagePullBackOff"), degraded},
		{"as if without an end, started again", "OnFailure", ignore, ended, degraded},
		{"the annotation says no", "Never", "argocd.argoproj.io/ignore-restart-policy: 'false'", ready, progressing},
		{"a hook has an end", "Never", ignore + ", argocd.argoproj.io/hook: PreSync", ready, progressing},
		{"a hook of ours", "OnFailure", ignore + ", axle-cd.github.io/hook: PreSync", stuck("Running", "CrashLoopBackOff"), progressing},
		{"a hook of Plural", "OnFailure", ignore + ", deployment.plural.sh/sync-hook: pre-sync", ready, progressing},
		{"a hook of Helm", "OnFailure", ignore + ", helm.sh/hook: pre-install", ready, progressing},
		{"a hook that is skipped is none", "Never", ignore + ", argocd.argoproj.io/hook: Skip", ready, healthy},

		{"done", "Never", "", "status: {phase: Succeeded}", healthy},
		{"failed", "Never", "", "status: {phase: Failed}", degraded},
		{"lost", "Always", "", "status: {phase: Unknown}", unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			expect(t, fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: a, annotations: {%s}}\nspec: {restartPolicy: %q}\n%s", c.annotations, c.policy, c.status), c.want)
		})
	}
}

// TestMessagesOfPods: the message of a Pod names the problem, whether it counts as a
// failure or not.
func TestMessagesOfPods(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {restartPolicy: %s}\nstatus: {phase: %s, %s}"
	for name, c := range map[string]struct{ policy, phase, status, want string }{
		"two containers": {"Always", "Running", "containerStatuses: [{name: a, state: {waiting: {reason: CrashLoopBackOff, message: back-off}}}, {name: b, state: {waiting: {reason: ErrImagePull, message: no such tag}}}]",
			"CrashLoopBackOff: back-off; ErrImagePull: no such tag"},
		"an init container":     {"Always", "Pending", "initContainerStatuses: [{name: a, state: {waiting: {reason: CrashLoopBackOff, message: back-off}}}]", "CrashLoopBackOff: back-off"},
		"one with an end":       {"OnFailure", "Running", "containerStatuses: [{name: a, state: {waiting: {reason: CrashLoopBackOff, message: back-off}}}]", "CrashLoopBackOff: back-off"},
		"an image's name":       {"Always", "Pending", "containerStatuses: [{name: a, state: {waiting: {reason: InvalidImageName, message: A is upper case}}}]", "InvalidImageName: A is upper case"},
		"not placed":            {"Always", "Pending", "conditions: [{type: PodScheduled, status: 'False', message: no node fits}]", "no node fits"},
		"the pod's own message": {"Never", "Failed", "message: evicted, containerStatuses: [{name: a, state: {terminated: {exitCode: 3}}}]", "evicted"},
		"a container's message": {"Never", "Failed", "containerStatuses: [{name: a, state: {terminated: {exitCode: 3, message: no licence}}}]", "no licence"},
		"out of memory":         {"Never", "Failed", "containerStatuses: [{name: a, state: {terminated: {exitCode: 137, reason: OOMKilled}}}]", "OOMKilled"},
		"an exit code":          {"Never", "Failed", "containerStatuses: [{name: a, state: {terminated: {exitCode: 0}}}, {name: b, state: {terminated: {exitCode: 3}}}]", "container b ended with exit code 3"},
	} {
		t.Run(name, func(t *testing.T) {
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal(fmt.Appendf(nil, pod, c.policy, c.phase, c.status), &object.Object); err != nil {
				t.Fatal(err)
			}
			if got := kubehealth.Of(object); !strings.Contains(got.Message, c.want) {
				t.Errorf("%+v, want %q", got, c.want)
			}
		})
	}
}
