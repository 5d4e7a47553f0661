package ownertree

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/internal/kubehealth"
)

// analysis judges an AnalysisRun of Argo Rollouts by its phase.
func analysis(object *unstructured.Unstructured) kubehealth.Result {
	phase, _, _ := unstructured.NestedString(object.Object, "status", "phase")
	message, _, _ := unstructured.NestedString(object.Object, "status", "message")
	switch phase {
	case "Successful":
		return kubehealth.Result{Status: kubehealth.Healthy, Message: message}
	case "Failed", "Error":
		return kubehealth.Result{Status: kubehealth.Degraded, Message: message}
	case "Inconclusive":
		return kubehealth.Result{Status: kubehealth.Unknown, Message: message}
	}
	return kubehealth.Result{Status: kubehealth.Progressing, Message: message}
}

// short truncates a sentence.
func short(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessage], "") + "…"
}
