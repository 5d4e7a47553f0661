package supportbundle

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestPodsShowNoSecrets: nothing that people can write into a pod's containers is in a bundle,
// but the names of flags and values that cannot be secrets.
func TestPodsShowNoSecrets(t *testing.T) {
	const planted = "PLANTED"
	request := func() *corev1.HTTPGetAction {
		return &corev1.HTTPGetAction{Path: "/healthz?key=" + planted, HTTPHeaders: []corev1.HTTPHeader{{Name: "Authorization", Value: "Basic " + planted}}}
	}
	run := func() *corev1.ExecAction {
		return &corev1.ExecAction{Command: []string{"psql", planted, "-p" + planted + " x", "-p" + planted, "-p" + planted + "=", "-f", "-listen-address=1"}}
	}
	container := func() corev1.Container {
		probe := func() *corev1.Probe {
			return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: request(), Exec: run()}}
		}
		return corev1.Container{
			Name: "hub", Command: []string{"/bin/sh", "-c", "login " + planted}, Env: []corev1.EnvVar{{Name: "URL", Value: planted}},
			Args:          []string{"serve", "--replicas=3", "--poll=2m", "--public", "--database-url=postgres://u:" + planted + "@db", "--token", planted},
			LivenessProbe: probe(), ReadinessProbe: probe(), StartupProbe: probe(),
			Lifecycle: &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{Exec: run()}, PreStop: &corev1.LifecycleHandler{HTTPGet: request()}},
		}
	}
	pod := corev1.PodSpec{InitContainers: []corev1.Container{container()}, Containers: []corev1.Container{container()},
		EphemeralContainers: []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon(container())}}}
	hideIn(&pod)
	text, err := json.MarshalIndent(pod, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, planted) {
			t.Errorf("the bundle has %s", line)
		}
	}
	for _, want := range []string{`"/bin/sh"`, `"--replicas=3"`, `"--poll=2m"`, `"--public"`, `"-f"`, `"-listen-address=1"`, `"--database-url=(left out)"`, `"/healthz?(left out)"`, `"Authorization"`} {
		if strings.Count(string(text), want) < 3 {
			t.Errorf("the bundle does not have %s of each container:\n%s", want, text)
		}
	}
}
