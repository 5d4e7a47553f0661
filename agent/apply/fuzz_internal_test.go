package apply

import (
	"encoding/json"
	"testing"

	"github.com/axle-cd/axle/agent/apply/inventory"
	"github.com/axle-cd/axle/agent/apply/plan"
	"github.com/axle-cd/axle/agent/apply/wave"
	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/internal/packedobj"
	"github.com/axle-cd/axle/internal/taken"
)

// FuzzBodies reads any text as the body of a rendered object, where a pass, a diff and a heal
// look into it.
func FuzzBodies(f *testing.F) {
	for _, text := range []string{`{"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"a"},"spec":{"ttlSecondsAfterFinished":7}}`, `{"spec":null}`, `{"spec":{"ttlSecondsAfterFinished":"x"}}`, `[]`, `null`, ``, `{"a":[[],[],{}]}`} {
		f.Add([]byte(text))
	}
	ref := kubeobj.Ref{Group: "batch", Kind: "Job", Namespace: "ns", Name: "a"}
	f.Fuzz(func(t *testing.T, body []byte) {
		it := &wave.Item{Ref: ref, Body: body, Hook: wave.Hook{Runs: true}}
		r := &run{plan: &plan.Plan{Items: []*wave.Item{it}, ByRef: map[kubeobj.Ref]*wave.Item{ref: it}}, next: &inventory.Inventory{}}
		taken.Few(t, len(body), func() {
			r.vanishes(ref)
			_, _ = (&differ{r}).one(t.Context(), it)
		})
		if text, err := json.Marshal([]wave.Packed{it.Pack()}); err == nil {
			packed := packedobj.Bytes(text)
			// The decompressor makes its buffers anew from time to time.
			taken.Few(t, 4096+len(text), func() {
				all, err := kept{packed: packed}.items()
				if err != nil || all[ref] == nil {
					t.Errorf("%s does not come back: %v", text, err)
				}
			})
		}
	})
}
