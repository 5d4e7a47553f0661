package readiness

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/axle-cd/axle/internal/taken"
)

// FuzzBudgets reads any object as a PodDisruptionBudget of a tenant.
func FuzzBudgets(f *testing.F) {
	for _, spec := range []string{`{"minAvailable":1,"selector":{"matchLabels":{"a":"b"}}}`, `{"maxUnavailable":"0%"}`, `{"maxUnavailable":[],"selector":{}}`, `{"selector":{"matchExpressions":[{"key":"a","operator":"In","values":["","",""]},{}]}}`, `null`, `[]`} {
		f.Add([]byte(`{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"namespace":"ns","name":"a"},"spec":` + spec + `,"status":{"expectedPods":1}}`))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		object := &unstructured.Unstructured{}
		if object.UnmarshalJSON(text) != nil {
			return
		}
		taken.Few(t, len(text), func() {
			one, short := budgetOf(object)
			if one.selector == nil || !short && one.selector.Matches(labels.Set{"a": "b"}) {
				t.Errorf("%+v", one)
			}
		})
	})
}
