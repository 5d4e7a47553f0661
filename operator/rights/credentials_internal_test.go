package rights

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/axle-cd/axle/api/v1alpha1"
)

// When a Secret or a namespace is one of several credentials, each of them is looked at.
func TestAllRivalsAreLookedAt(t *testing.T) {
	requests := requestsOf([]v1alpha1.NamespaceCredentials{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, {ObjectMeta: metav1.ObjectMeta{Name: "b"}}})
	if len(requests) != 2 || requests[0].Name != "a" || requests[1].Name != "b" {
		t.Errorf("%v", requests)
	}
}
