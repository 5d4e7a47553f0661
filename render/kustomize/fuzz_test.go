package kustomize_test

import (
	"testing"

	"github.com/axle-cd/axle/internal/manifest"
	"github.com/axle-cd/axle/internal/taken"
	"github.com/axle-cd/axle/render/kustomize"
)

// FuzzRender builds any short kustomization of any short resource, with any file of values for a
// chart, and has it change what another renderer made.
func FuzzRender(f *testing.F) {
	for _, text := range []string{"resources: [a.yaml]\n", "resources: [a.yaml]\nnamePrefix: x-\nlabels: [{pairs: {a: b}}]\n", "resources: [a.yaml]\npatches: [{patch: '[{\"op\":\"add\",\"path\":\"/data\",\"value\":{\"n\":1.5}}]', target: {kind: ConfigMap}}]\n",
		"helmCharts:\n- {name: c, valuesFile: values.yaml, valuesInline: {a: {b: 1}}, valuesMerge: merge}\n", "configMapGenerator: [{name: g, files: [values.yaml]}]\n", "resources: {}\n", "[]", ""} {
		f.Add(text, settings, "a: {c: [1, 1.5, 0x10, 2026-01-01]}\n")
	}
	f.Add("resources: [a.yaml]\n", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {t: 2026-01-01, n: .inf, o: 0o7, b: !!binary aGk=}\n", "a: &a {b: *a}\n")
	f.Add("resources: [a.yaml]\n", "apiVersion: v1\nkind: List\nitems: [null, {}]\n", "- a\n")
	f.Fuzz(func(t *testing.T, kustomization, resource, values string) {
		if len(kustomization)+len(resource)+len(values) > 4096 {
			return
		}
		files := map[string]string{"app/kustomization.yaml": kustomization, "app/a.yaml": resource, "app/values.yaml": values, "app/charts/c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n"}
		r := kustomize.Request{Tree: seal(t, files), Dir: "app", Variables: map[string]string{"A": "b"}, EnableHelm: true,
			Inflate: func(kustomize.Chart) ([]manifest.Object, error) {
				objects, _, err := manifest.Decode("a.yaml", []byte(settings))
				return objects, err
			}}
		bytes := taken.By(func() {
			_, _, _ = kustomize.Render(r)
			if objects, _, err := manifest.Decode("a.yaml", []byte(resource)); err == nil {
				for i := range objects {
					objects[i].Volatile = []string{"/data"}
				}
				_, _, _ = kustomize.Change(r, objects)
			}
		})
		// The library reads its OpenAPI once.
		if bytes > 256<<20 {
			t.Errorf("%d MiB", bytes>>20)
		}
	})
}
