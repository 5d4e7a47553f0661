package upgrade

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/internal/taken"
)

// FuzzRecord reads any text as the record of an upgrade, in a ConfigMap that others may
// write, and as the Deployment in it; and as one that was rendered.
func FuzzRecord(f *testing.F) {
	f.Add(`{"phase":"Handed","key":"k","since":"2026-01-01T00:00:00Z","deployment":{"spec":{"template":{"spec":{"containers":[{"image":"a","args":["--candidate=x"]}]}}}}}`, `{"key":"k","state":"Ready"}`)
	f.Add(`{"deployment":{},"previous":null}`, `{"spec":{"template":{"spec":{"containers":[]}}}}`)
	f.Add(`{"deployment":[]}`, `{"kind":"Deployment","apiVersion":"apps/v1","spec":{"replicas":"many","template":{"spec":{"containers":[{},{},{"ports":[{},{}]}]}}}}`)
	f.Fuzz(func(t *testing.T, one, two string) {
		taken.Few(t, len(one)+len(two), func() {
			r, _ := parse(&corev1.ConfigMap{Data: map[string]string{recordKey: one, candidateKey: two}})
			for _, text := range [][]byte{r.Deployment, r.Previous, []byte(two)} {
				if d, err := kept(text); err == nil {
					sameProgram(d.Spec.Template.Spec, d.Spec.Template.Spec)
					WithoutCandidate(d.Spec.Template.Spec.Containers[0].Args)
				}
			}
			object := &unstructured.Unstructured{}
			if object.UnmarshalJSON([]byte(two)) == nil {
				_, _ = rendered(object)
			}
		})
	})
}

// A record that somebody changed by hand ends in an error and not in a crash of the agent.
func TestARecordWithoutAContainerIsRefused(t *testing.T) {
	for _, text := range []string{``, `{}`, `{"spec":{"template":{"spec":{"containers":[]}}}}`, `[]`} {
		k := &Keeper{}
		if err := k.startCandidate(t.Context(), record{Deployment: []byte(text)}); err == nil {
			t.Errorf("%q starts a candidate", text)
		}
	}
}
