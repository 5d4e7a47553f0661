package render

import (
	"encoding/json"
	"testing"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/taken"
)

// FuzzTexts reads any text as each that a render takes from others: the cluster's metadata of
// the hub, a live object that was looked up, and an object of the child.
func FuzzTexts(f *testing.F) {
	for _, text := range []string{`{"metadata":{"uid":"u","resourceVersion":"7"}}`, `{"items":[{"metadata":{"uid":"b"}},{}]}`, `{"items":null}`, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}`, `{"kind":"List","apiVersion":"v1","items":[{}]}`, `[]`, `null`, ``, `{"a":1e999}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		taken.Few(t, len(text), func() {
			if out, err := clusterBinding(&agentv1.ClusterData{Id: "c", Metadata: string(text)}); err == nil && !json.Valid(out) {
				t.Errorf("%s", out)
			}
			if StateOf(text) == "" {
				t.Error("an object without a state")
			}
			_, _ = (&Result{Objects: []Object{{JSON: text, Source: "a.yaml"}}}).Decoded()
		})
	})
}
