package jsonnet_test

import (
	"testing"

	"github.com/axle-cd/axle/internal/taken"
	"github.com/axle-cd/axle/render/jsonnet"
)

// FuzzRender evaluates any short file. What a program makes of itself is bounded by the child
// that it runs in, so only small ones are tried.
func FuzzRender(f *testing.F) {
	for _, text := range []string{"local x = std.extVar('configuration').color; [" + object + ", null, [{}]]", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"n":1e9}}`,
		`{apiVersion: 'v1', kind: 'List', items: [{}, null]}`, `{apiVersion: 'v1', kind: 'ConfigMap', metadata: []}`, "function(x=1) x", "[1, 'a', true]", "", "error 'a'"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 2048 {
			return
		}
		r := request(t, map[string]string{"app/web/main.jsonnet": text})
		if bytes := taken.By(func() { _, _, _ = jsonnet.Render(r) }); bytes > 256<<20 {
			t.Errorf("%d bytes take %d MiB", len(text), bytes>>20)
		}
	})
}
