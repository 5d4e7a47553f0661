package kubeclient

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestWordsOfRefusals has the words of the API server's validations of updates, by where
// they stand there: those about what cannot be changed in place, also where no API server
// of ours comes to say them, and those about what has another way out.
func TestWordsOfRefusals(t *testing.T) {
	for words, want := range map[string]bool{
		"field is immutable": true, "field is immutable, except for updating from beta label to GA": true, "field is immutable when `immutable` is set": true, "spec is immutable after creation": true,
		// Claims: unbound ones, bound ones, and those of clusters that cannot recover from an expansion.
		"spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n{}": true,
		"field can not be less than status.capacity":    true,
		"field can not be less than previous value":     true,
		"update from non-nil value to nil is forbidden": true,
		// Pods, also those with scheduling gates.
		"pod updates may not change fields other than `spec.containers[*].image`,`spec.tolerations` (only additions to existing tolerations)\n{}": true,
		"pod updates may not add or remove containers":                                true,
		"existing toleration can not be modified except its tolerationSeconds":        true,
		"only deletion is allowed, but found new scheduling gate 'a'":                 true,
		"only additions to spec.nodeSelector are allowed (no mutations or deletions)": true,
		"only additions are allowed (no mutations or deletions)":                      true,
		"no additions/deletions to non-empty NodeSelectorTerms list are allowed":      true,
		"must be less than or equal to previous value":                                true,
		"must not update from a positive integer to nil value":                        true,
		// Services, workloads, classes and bindings.
		"may not change once set": true, "primary clusterIP can not be unset": true, "primary ipFamily can not be unset": true,
		"updates to statefulset spec for fields other than 'replicas', 'ordinals' are forbidden": true,
		"updates to parameters are forbidden.":                                                   true,
		"updates to provisioner are forbidden.":                                                  true,
		"may not be changed in an update.":                                                       true,
		"may not be updated":                                                                     true,
		"cannot change roleRef":                                                                  true,
		"node updates may not change metadata except labels":                                     true,
		"failed rule: self == oldSelf":                                                           true,
		"field cannot be cleared once set":                                                       true,

		// What another value mends.
		"must be no more than 63 characters": false, "cannot be 0 when maxSurge is 0": false, "may not be 0 when `maxSurge` is 0": false, "may not be set for ExternalName services": false,
		"may not be used when `type` is 'ClusterIP'": false, "must not be set when session affinity is None": false, "must be greater than or equal to 0": false,
		"`selector` does not match template `labels`": false, "may not be specified when strategy `type` is 'Recreate'": false, "Unsupported value": false,
		"only one of `sharedCounters` or `devices` is allowed": false, "may not specify more than 1 volume type": false, "must specify one of: `httpGet`, `tcpSocket`": false,
	} {
		if got := immutable(metav1.StatusCause{Message: "Invalid value: {}: " + words}); got != want {
			t.Errorf("%q: cannot be changed in place: %v, want %v", words, got, want)
		}
	}
}
