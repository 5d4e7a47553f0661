package supportbundle

import (
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// leftOut stands where people may have put a secret.
const leftOut = "(left out)"

// harmless are values of flags that hold no secret: switches, numbers, sizes and durations.
var harmless = regexp.MustCompile(`^(true|false|[0-9.]{1,9}([a-zA-Z]{1,2})?)$`)

// hideIn removes from a pod what people may have put secrets into: values of environment
// variables and flags, commands, headers of probes.
func hideIn(pod *corev1.PodSpec) {
	for _, list := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range list {
			hide(&list[i])
		}
	}
	for i := range pod.EphemeralContainers {
		c := corev1.Container(pod.EphemeralContainers[i].EphemeralContainerCommon)
		hide(&c)
		pod.EphemeralContainers[i].EphemeralContainerCommon = corev1.EphemeralContainerCommon(c)
	}
}

func hide(c *corev1.Container) {
	for i := range c.Env {
		if c.Env[i].Value != "" {
			c.Env[i].Value = leftOut
		}
	}
	hideWords(c.Command[min(1, len(c.Command)):])
	hideWords(c.Args)
	for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		if probe != nil {
			hideRequest(probe.Exec, probe.HTTPGet)
		}
	}
	if c.Lifecycle == nil {
		return
	}
	for _, hook := range []*corev1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
		if hook != nil {
			hideRequest(hook.Exec, hook.HTTPGet)
		}
	}
}

// flagName is one that Go's programs have after a single dash.
var flagName = regexp.MustCompile(`^-[a-z]+(-[a-z]+)*$`)

// hideWords leaves of the words of a command only the names of flags, and values that are harmless.
func hideWords(words []string) {
	for i, word := range words {
		name, value, set := strings.Cut(word, "=")
		switch {
		case !strings.HasPrefix(word, "-") || strings.ContainsAny(name, " \n\t"):
			words[i] = leftOut
		case !strings.HasPrefix(word, "--") && len(name) > 2 && !(set && flagName.MatchString(name)):
			words[i] = word[:2] + leftOut // as -pPASSWORD, which is no name of a flag
		case set && !harmless.MatchString(value):
			words[i] = name + "=" + leftOut
		}
	}
}

func hideRequest(run *corev1.ExecAction, get *corev1.HTTPGetAction) {
	if run != nil {
		hideWords(run.Command[min(1, len(run.Command)):])
	}
	if get == nil {
		return
	}
	for i := range get.HTTPHeaders {
		get.HTTPHeaders[i].Value = leftOut
	}
	if path, _, query := strings.Cut(get.Path, "?"); query {
		get.Path = path + "?" + leftOut
	}
}
