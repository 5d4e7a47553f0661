package render_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/agent/render"
	specv1 "github.com/axle-cd/axle/api/spec/v1"
	"github.com/axle-cd/axle/test/bin"
)

// TestExamples renders what docs/spec/renderers.md points to.
func TestRendererExamples(t *testing.T) {
	tools, err := filepath.Abs("../../examples/renderers/tools")
	if err != nil {
		t.Fatal(err)
	}
	box := t.TempDir()
	module, err := bin.Path(t.Context(), "_module", bin.Options{Package: "./examples/renderers/_module", Target: "wasip1/wasm"})
	if err != nil {
		t.Fatal(err)
	}
	copyFile(t, module, filepath.Join(box, "web.wasm"))
	tests := map[string]struct {
		tools string
		step  render.Step
		want  map[string]string // name of a rendered object, and its color
	}{
		"jsonnet": {
			step: render.Step{Type: "JSONNET", Jsonnet: specv1.Jsonnet{TLAs: []specv1.JsonnetVariable{{Name: "replicas", Value: "2", Code: true}}}},
			want: map[string]string{"Deployment jsonnet-web": "", "ConfigMap jsonnet-web": "green"},
		},
		"cue":     {want: map[string]string{"ServiceAccount cue-web": "", "ConfigMap cue-web": "green"}},
		"changed": {step: render.Step{Type: "RAW", Postrender: "change"}, want: map[string]string{"ConfigMap changed-web": "green"}},
		"tool":    {tools: tools, step: render.Step{Type: "EXEC", Tool: "names"}, want: map[string]string{"ConfigMap one": "", "ConfigMap two": ""}},
		"_module": {tools: box, step: render.Step{Type: "WASM", Tool: "web"}, want: map[string]string{"ConfigMap web": "green"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			result, err := rareRunner(t, render.Config{Tools: test.tools}).Render(patient(t), render.Pass{
				Project: "p", Name: "web", Namespace: "shop", Folder: "../../examples/renderers", Entry: name,
				Configuration: map[string]string{"color": "green"}, Steps: []render.Step{test.step},
			})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, o := range result.Objects {
				var object struct {
					Kind     string
					Metadata struct{ Name string }
					Data     map[string]string
				}
				if err := json.Unmarshal(o.JSON, &object); err != nil {
					t.Fatal(err)
				}
				got[object.Kind+" "+object.Metadata.Name] = object.Data["color"]
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
		})
	}
}
