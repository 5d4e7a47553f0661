package kustomize_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/axle-cd/axle/internal/manifest"
	"github.com/axle-cd/axle/render/kustomize"
)

// odd are values that YAML writes in many ways.
const odd = `apiVersion: v1
kind: ConfigMap
metadata: {name: odd}
base: &base {x: 1, y: [a, b]}
data:
  merged: {<<: *base, z: 2}
  again: *base
  date: 2026-01-02
  moment: 2026-01-02T03:04:05Z
  integers: [0755, 0o755, 0x1F, 0b11, -12, 1_000, 9223372036854775807, 18446744073709551615, 123456789012345678901234567890]
  floats: [1.0, 1e3, 1.5e-7, 1e21, 0.1, 123456789.123456789, 100000000000000000000.0, +4]
  words: [yes, no, on, off, y, n, True, FALSE, ~, null, Null, "yes", '012', 1:20, 1.2.3, .5]
  nothing:
  tagged: [!!str 12, !!int "12", !!float 3, !!binary aGVsbG8=]
  literal: |
    a
      b

  kept: |+
    a


  folded: >-
    a
    b

    c
  texts: ["a\tb\u00e9\U0001F600", "", "a: b", "a #b", "- a", "it's \"x\"", " blank ", "line\n", "# no comment"]
`

// TestValuesAreThoseOfKustomizeBuild: objects are made from the library's nodes; they
// equal those decoded from the text that kustomize build writes.
func TestValuesAreThoseOfKustomizeBuild(t *testing.T) {
	files := map[string]string{
		"app/odd.yaml": odd,
		"app/kustomization.yaml": "namePrefix: x-\nresources: [odd.yaml]\ncommonAnnotations: {number: \"12\", word: \"yes\"}\n" +
			"patches: [{patch: '{apiVersion: v1, kind: ConfigMap, metadata: {name: odd}, data: {p1: 1e3, p2: \"1e3\", p3: 010, p4: yes, p5: 2026-01-01, nothing: 3}}'}]\n",
	}
	disk := filesys.MakeFsInMemory()
	for name, text := range files {
		if err := disk.WriteFile("/"+name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	options := krusty.MakeDefaultOptions()
	built, err := krusty.MakeKustomizer(options).Run(disk, "/app")
	if err != nil {
		t.Fatal(err)
	}
	text, err := built.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	want, _, err := manifest.Decode("built", text)
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := kustomize.Render(kustomize.Request{Tree: seal(t, files), Dir: "app"})
	if err != nil || len(got) != 1 {
		t.Fatalf("%d objects, %v", len(got), err)
	}
	if diff := cmp.Diff(want[0].Data, got[0].Data); diff != "" {
		t.Errorf("values (-kustomize build +here):\n%s", diff)
	}
}
