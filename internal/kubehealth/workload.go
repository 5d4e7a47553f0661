package kubehealth

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func deployment(object *unstructured.Unstructured) Result {
	if flag(object, "spec", "paused") {
		return Result{Suspended, "the deployment is paused"}
	}
	if !observed(object) {
		return waiting("the new specification is not observed yet")
	}
	want := wanted(object)
	if c := condition(object, "Progressing"); c.reason == "ProgressDeadlineExceeded" {
		return Result{Degraded, "exceeded its progress deadline: " + c.message}
	}
	updated, total := number(object, "status", "updatedReplicas"), number(object, "status", "replicas")
	available := number(object, "status", "availableReplicas")
	switch {
	case updated < want:
		return waiting("%d of %d new replicas are up to date", updated, want)
	case total > updated:
		return waiting("%d old replicas are still to go", total-updated)
	case available < updated:
		return waiting("%d of %d updated replicas are available", available, updated)
	}
	return Result{Status: Healthy}
}

func statefulSet(object *unstructured.Unstructured) Result {
	if !observed(object) || number(object, "status", "observedGeneration") == 0 {
		return waiting("the new specification is not observed yet")
	}
	want, ready := wanted(object), number(object, "status", "readyReplicas")
	if ready < want {
		return waiting("%d of %d replicas are ready", ready, want)
	}
	strategy := text(object, "spec", "updateStrategy", "type")
	updated := number(object, "status", "updatedReplicas")
	partition := number(object, "spec", "updateStrategy", "rollingUpdate", "partition")
	if strategy == "RollingUpdate" && partition > 0 {
		if updated < want-partition {
			return waiting("%d of %d replicas of the partition are updated", updated, want-partition)
		}
		return Result{Healthy, fmt.Sprintf("partitioned roll out complete: %d new replicas", updated)}
	}
	if strategy == "OnDelete" {
		return Result{Healthy, fmt.Sprintf("%d replicas are ready", ready)}
	}
	if now, next := text(object, "status", "currentRevision"), text(object, "status", "updateRevision"); now != next {
		return waiting("%d of %d replicas are updated", updated, want)
	}
	return Result{Status: Healthy}
}

func daemonSet(object *unstructured.Unstructured) Result {
	if !observed(object) || number(object, "status", "observedGeneration") == 0 {
		return waiting("the new specification is not observed yet")
	}
	if text(object, "spec", "updateStrategy", "type") == "OnDelete" {
		return Result{Status: Healthy}
	}
	want := number(object, "status", "desiredNumberScheduled")
	if n := number(object, "status", "updatedNumberScheduled"); n < want {
		return waiting("%d of %d pods are updated", n, want)
	}
	if n := number(object, "status", "numberAvailable"); n < want {
		return waiting("%d of %d updated pods are available", n, want)
	}
	return Result{Status: Healthy}
}

func replicaSet(object *unstructured.Unstructured) Result {
	if !observed(object) {
		return waiting("the new specification is not observed yet")
	}
	if c := condition(object, "ReplicaFailure"); c.status == "True" {
		return Result{Degraded, c.message}
	}
	want, available := wanted(object), number(object, "status", "availableReplicas")
	if available < want {
		return waiting("%d of %d replicas are available", available, want)
	}
	return Result{Status: Healthy}
}

func job(object *unstructured.Unstructured) Result {
	if c := condition(object, "Failed"); c.status == "True" {
		return Result{Degraded, c.message}
	}
	if c := condition(object, "Complete"); c.status == "True" {
		return Result{Healthy, c.message}
	}
	if c := condition(object, "Suspended"); c.status == "True" || flag(object, "spec", "suspend") {
		return Result{Suspended, c.message}
	}
	return waiting("the job has not ended yet")
}

func cronJob(object *unstructured.Unstructured) Result {
	if flag(object, "spec", "suspend") {
		return Result{Suspended, "the cron job is suspended"}
	}
	return Result{Status: Healthy}
}

// badReasons are what a container waits for that does not pass by itself.
var badReasons = map[string]bool{
	"CrashLoopBackOff": true, "ImagePullBackOff": true, "ErrImagePull": true, "InvalidImageName": true,
	"CreateContainerConfigError": true, "CreateContainerError": true, "RunContainerError": true,
	"ErrImageNeverPull": true, "RegistryUnavailable": true,
}

func pod(object *unstructured.Unstructured) Result {
	statuses := containers(object)
	if text(object, "spec", "restartPolicy") != "Never" {
		for _, s := range statuses {
			reason, _, _ := unstructured.NestedString(s, "state", "waiting", "reason")
			if badReasons[reason] {
				message, _, _ := unstructured.NestedString(s, "state", "waiting", "message")
				return Result{Degraded, reason + ": " + message}
			}
		}
	}
	message := text(object, "status", "message")
	switch text(object, "status", "phase") {
	case "Succeeded":
		return Result{Healthy, message}
	case "Failed":
		return Result{Degraded, failure(message, statuses)}
	case "Running":
		return runningPod(object, message, statuses)
	case "Pending", "":
		if c := condition(object, "PodScheduled"); c.status == "False" && message == "" {
			message = c.message
		}
		return Result{Progressing, message}
	}
	return Result{Unknown, message}
}

func runningPod(object *unstructured.Unstructured, message string, statuses []map[string]any) Result {
	if policy := text(object, "spec", "restartPolicy"); policy == "OnFailure" || policy == "Never" {
		return Result{Progressing, message}
	}
	if c := condition(object, "Ready"); c.status == "True" {
		return Result{Healthy, message}
	}
	for _, s := range statuses {
		if _, ended, _ := unstructured.NestedMap(s, "lastState", "terminated"); ended {
			name, _, _ := unstructured.NestedString(s, "name")
			return Result{Degraded, fmt.Sprintf("container %s ended and is not ready", name)}
		}
	}
	return Result{Progressing, message}
}

func failure(message string, statuses []map[string]any) string {
	if message != "" {
		return message
	}
	for _, s := range statuses {
		code, ok, _ := unstructured.NestedInt64(s, "state", "terminated", "exitCode")
		if ok && code != 0 {
			name, _, _ := unstructured.NestedString(s, "name")
			return fmt.Sprintf("container %s ended with exit code %d", name, code)
		}
	}
	return "the pod failed"
}

func containers(object *unstructured.Unstructured) []map[string]any {
	var all []map[string]any
	for _, field := range []string{"initContainerStatuses", "containerStatuses"} {
		list, _, _ := unstructured.NestedSlice(object.Object, "status", field)
		for _, item := range list {
			if s, ok := item.(map[string]any); ok {
				all = append(all, s)
			}
		}
	}
	return all
}
