package cue_test

import (
	"testing"

	"github.com/axle-cd/axle/internal/taken"
	"github.com/axle-cd/axle/render/cue"
)

// FuzzRender evaluates any short file. What a program makes of itself is bounded by the child
// that it runs in, so only small ones are tried.
func FuzzRender(f *testing.F) {
	for _, text := range []string{"package web\no: " + object + "\nx: \"a\"\n", `o: {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"n":1e9,"b":9007199254740993}}`,
		`o: {apiVersion: "v1", kind: "List", items: [{}, null]}`, `o: {apiVersion: "v1", kind: "ConfigMap", metadata: []}`, `o: {apiVersion: 1, kind: "a"}`, "x: [1, {a: x}]", "", "package a"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 2048 {
			return
		}
		r := request(t, map[string]string{"shop/cue.mod/module.cue": module, "shop/web/a.cue": text})
		if bytes := taken.By(func() { _, _ = cue.Render(r) }); bytes > 64<<20 {
			t.Errorf("%d bytes take %d MiB", len(text), bytes>>20)
		}
	})
}
