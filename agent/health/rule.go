package health

import (
	"strings"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/axle-cd/axle/internal/kubehealth"
)

// HasRule reports whether the kind's health depends on more than its existence, so
// that whole objects must be read.
func HasRule(kind schema.GroupKind) bool {
	return kubehealth.HasRule(kind) || !kubehealth.Plain(kind.Group)
}

// Of judges one object by the built-in rules.
func Of(object *unstructured.Unstructured) Result { return (*Rules)(nil).Of(object) }

// generic applies kstatus: conditions Ready, Reconciling and Stalled, and the
// observed generation.
func generic(object *unstructured.Unstructured) Result {
	res, err := status.Compute(object)
	if err != nil {
		return Result{Status: Unknown, Message: err.Error()}
	}
	switch res.Status {
	case status.CurrentStatus:
		return Result{Status: Healthy}
	case status.FailedStatus:
		return Result{Status: Degraded, Message: res.Message}
	case status.InProgressStatus, status.TerminatingStatus:
		return failedReady(object, Result{Status: Progressing, Message: res.Message})
	case status.NotFoundStatus:
		return Result{Status: Missing, Message: res.Message}
	}
	return Result{Status: Unknown, Message: res.Message}
}

// failedReady distinguishes a failed resource from one in progress: a failed one has
// a Ready condition that is False with a reason that says so.
func failedReady(object *unstructured.Unstructured, otherwise Result) Result {
	is, reason, message := kubehealth.Condition(object, "Ready")
	if is != "False" || !kubehealth.Observed(object) {
		return otherwise
	}
	for _, word := range []string{"Fail", "Error", "Invalid", "Denied", "NotFound"} {
		if strings.Contains(reason, word) {
			return Result{Status: Degraded, Message: message}
		}
	}
	return otherwise
}
