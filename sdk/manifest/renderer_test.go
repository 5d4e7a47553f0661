package manifest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
)

func TestReadRenderers(t *testing.T) {
	items, err := read(t, `apiVersion: deployments.plural.sh/v1alpha1
kind: ServiceDeployment
metadata: {name: web, namespace: platform}
spec:
  cluster: edge-17
  repositoryRef: {name: fleet}
  git: {ref: main, folder: web}
  helm: {kustomizePostrender: post}
  renderers:
  - {path: a, type: JSONNET, kustomizePostrender: over, jsonnet: {file: f, libs: [l], tlas: [{name: t, value: "1", code: true}], extVars: [{name: e, value: x}]}}
  - {path: b, type: CUE, cue: {package: p, expression: x, tags: {k: v}}}
  - {path: c, type: EXEC, exec: {tool: kcl, parameters: {k: v}}}
  - {path: d, type: WASM, wasm: {module: m.wasm, parameters: {k: v}}}
  - {path: e, type: WASM, wasm: {tool: web}}
`)
	if err != nil {
		t.Fatal(err)
	}
	if len(items) != 1 || len(items[0].NotActing) != 0 {
		t.Fatalf("items %+v", items)
	}
	spec := items[0].Service.GetSpec()
	if spec.GetHelm().GetKustomizePostrender() != "post" {
		t.Errorf("the kustomization over the service is %q", spec.GetHelm().GetKustomizePostrender())
	}
	want := []*hubv1.Renderer{
		{Path: "a", Type: "JSONNET", KustomizePostrender: "over", Jsonnet: &hubv1.Jsonnet{
			File: "f", Libs: []string{"l"}, Tlas: []*hubv1.JsonnetVariable{{Name: "t", Value: "1", Code: true}}, ExtVars: []*hubv1.JsonnetVariable{{Name: "e", Value: "x"}},
		}},
		{Path: "b", Type: "CUE", Cue: &hubv1.Cue{Package: "p", Expression: "x", Tags: map[string]string{"k": "v"}}},
		{Path: "c", Type: "EXEC", Exec: &hubv1.Exec{Tool: "kcl", Parameters: map[string]string{"k": "v"}}},
		{Path: "d", Type: "WASM", Wasm: &hubv1.Wasm{Module: "m.wasm", Parameters: map[string]string{"k": "v"}}},
		{Path: "e", Type: "WASM", Wasm: &hubv1.Wasm{Tool: "web"}},
	}
	if diff := cmp.Diff(want, spec.GetRenderers(), protocmp.Transform()); diff != "" {
		t.Errorf("renderers (-want +got):\n%s", diff)
	}
}
