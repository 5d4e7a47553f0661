package kubehealth

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ignorePolicy is Argo CD's annotation of a Pod whose restart policy lets it end, but
// that must be judged like one that runs on. Hooks do end.
const ignorePolicy = "argocd.argoproj.io/ignore-restart-policy"

var hookAnnotations = []string{"axle-cd.github.io/hook", "deployment.plural.sh/sync-hook", "argocd.argoproj.io/hook", "helm.sh/hook"}

// pod judges a Pod that runs on at once: a container that cannot start is a failure.
// A Pod that ends has not failed before its end, however often its containers
// restart: an image may become available, a database may start.
func pod(object *unstructured.Unstructured) Result {
	containers, message := statuses(object, "containerStatuses"), text(object, "status", "message")
	runsOn := runsOn(object)
	if stuck := waits(containers, broken); stuck != "" && runsOn {
		return Result{Degraded, stuck}
	}
	phase := text(object, "status", "phase")
	switch {
	case phase == "Succeeded":
		return Result{Healthy, message}
	case phase == "Failed":
		return Result{Degraded, failure(message, append(statuses(object, "initContainerStatuses"), containers...))}
	case phase == "Running" && runsOn && condition(object, "Ready").status == "True":
		return Result{Healthy, message}
	case phase == "Running" && runsOn && ended(containers) != "":
		return Result{Degraded, fmt.Sprintf("container %s ended and is not ready", ended(containers))}
	case phase == "Running", phase == "Pending":
		if c := condition(object, "PodScheduled"); c.status == "False" && message == "" {
			message = c.message
		}
		if message == "" {
			message = waits(append(statuses(object, "initContainerStatuses"), containers...), unusual)
		}
		return Result{Progressing, message}
	}
	return Result{Unknown, message}
}

func runsOn(object *unstructured.Unstructured) bool {
	switch text(object, "spec", "restartPolicy") {
	case "Never", "OnFailure":
		return object.GetAnnotations()[ignorePolicy] == "true" && !isHook(object)
	}
	return true
}

func isHook(object *unstructured.Unstructured) bool {
	for _, key := range hookAnnotations {
		if value, ok := object.GetAnnotations()[key]; ok {
			return !strings.EqualFold(value, "skip")
		}
	}
	return false
}

// broken reports whether a waiting reason of Kubernetes does not resolve by itself.
func broken(reason string) bool {
	return strings.HasPrefix(reason, "Err") || strings.HasSuffix(reason, "Error") || strings.HasSuffix(reason, "BackOff")
}

// unusual reports whether a reason does not occur at every start.
func unusual(reason string) bool { return reason != "ContainerCreating" && reason != "PodInitializing" }

// waits says what keeps containers from starting, for the selected reasons.
func waits(containers []map[string]any, sort func(string) bool) string {
	var all []string
	for _, s := range containers {
		reason, _, _ := unstructured.NestedString(s, "state", "waiting", "reason")
		message, _, _ := unstructured.NestedString(s, "state", "waiting", "message")
		if reason != "" && sort(reason) {
			all = append(all, reason+": "+message)
		}
	}
	return strings.Join(all, "; ")
}

// ended names a container that ended before.
func ended(containers []map[string]any) string {
	for _, s := range containers {
		if _, is, _ := unstructured.NestedMap(s, "lastState", "terminated"); is {
			name, _, _ := unstructured.NestedString(s, "name")
			return name
		}
	}
	return ""
}

func failure(message string, containers []map[string]any) string {
	if message != "" {
		return message
	}
	for _, s := range containers {
		end, _, _ := unstructured.NestedMap(s, "state", "terminated")
		said, _ := end["message"].(string)
		code, _ := field(&unstructured.Unstructured{Object: end}, "exitCode")
		switch {
		case said != "":
			return said
		case end["reason"] == "OOMKilled":
			return "OOMKilled"
		case code != 0:
			return fmt.Sprintf("container %v ended with exit code %d", s["name"], code)
		}
	}
	return "the pod failed"
}

func statuses(object *unstructured.Unstructured, list string) []map[string]any {
	items, _, _ := unstructured.NestedSlice(object.Object, "status", list)
	var all []map[string]any
	for _, item := range items {
		if s, ok := item.(map[string]any); ok {
			all = append(all, s)
		}
	}
	return all
}
