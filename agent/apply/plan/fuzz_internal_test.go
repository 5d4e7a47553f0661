package plan

import (
	"testing"

	"github.com/axle-cd/axle/agent/apply/wave"
	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/internal/taken"
)

// FuzzTargets reads any text as the body of an autoscaler.
func FuzzTargets(f *testing.F) {
	for _, text := range []string{`{"spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"a"}}}`, `{"spec":{"scaleTargetRef":{"apiVersion":"//","name":"a"}}}`, `{"spec":{"scaleTargetRef":[]}}`, `{}`, `[]`, `null`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		p := &Plan{Items: []*wave.Item{{Ref: kubeobj.Ref{Kind: "HorizontalPodAutoscaler", Namespace: "ns"}, Body: body}, {Ref: kubeobj.Ref{Kind: "ConfigMap"}, Body: body}}}
		taken.Few(t, len(body), func() {
			for ref := range p.Targets() {
				if ref.Namespace != "ns" || ref.Kind == "" {
					t.Errorf("%v", ref)
				}
			}
		})
	})
}
