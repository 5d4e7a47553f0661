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
	if _, rolling, _ := unstructured.NestedMap(object.Object, "spec", "updateStrategy", "rollingUpdate"); rolling && strategy == "RollingUpdate" {
		partition, parted := field(object, "spec", "updateStrategy", "rollingUpdate", "partition")
		if parted && updated < want-partition {
			return waiting("%d of %d replicas of the partition are updated", updated, want-partition)
		}
		return Result{Healthy, fmt.Sprintf("%d replicas are updated", updated)}
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
	if !observed(object) {
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

// job counts a condition only if it is True. Argo CD considers a suspended and
// resumed Job Healthy, because it has a condition Suspended; a hook would then be
// over before its work is.
func job(object *unstructured.Unstructured) Result {
	if c := condition(object, "Failed"); c.status == "True" {
		return Result{Degraded, c.message}
	}
	if c := condition(object, "Complete"); c.status == "True" {
		return Result{Healthy, c.message}
	}
	if c := condition(object, "Suspended"); c.status == "True" {
		return Result{Suspended, c.message}
	}
	return waiting("the job has not ended yet")
}

// cronJob has the health of its last run. A suspended one is healthy, and a running
// one has no result yet.
func cronJob(object *unstructured.Unstructured) Result {
	status, found, _ := unstructured.NestedMap(object.Object, "status")
	last, ended := text(object, "status", "lastScheduleTime"), text(object, "status", "lastSuccessfulTime")
	active, _ := status["active"].([]any)
	switch {
	case flag(object, "spec", "suspend"):
		return Result{Healthy, "the cron job is suspended"}
	case !found:
		return waiting("not processed yet")
	case last == "":
		return Result{Healthy, "not scheduled yet"}
	case ended == "":
		return Result{Healthy, "no run has ended well yet"}
	case len(active) > 0:
		return Result{Healthy, "a run is under way"}
	case ended < last:
		return Result{Degraded, "the last run did not end well"}
	}
	return Result{Healthy, "the last run ended well"}
}
