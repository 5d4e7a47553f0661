package helm_test

import (
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/internal/liquid"
	"github.com/axle-cd/axle/render/helm"
)

var pageBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// TestThePagesExample renders the example of the page on values: a service, two files
// and the resulting values.
func TestThePagesExample(t *testing.T) {
	text, err := os.ReadFile("../../docs/spec/rendering.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := pageBlock.FindAllSubmatch(text, -1)
	if len(blocks) != 4 {
		t.Fatalf("%d blocks on the page, want four", len(blocks))
	}
	var service struct {
		Configuration map[string]any
		Helm          struct {
			ValuesFiles []string
			Values      map[string]any
			LuaScript   string
		}
	}
	if err := yaml.Unmarshal(blocks[0][1], &service); err != nil {
		t.Fatal(err)
	}
	inline, err := yaml.Marshal(service.Helm.Values)
	if err != nil {
		t.Fatal(err)
	}
	r := request(t, map[string]string{
		"templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {{ toJson .Values }}\n",
		"values.yaml":      "{color: chart, size: chart, replicas: chart, from: chart}\n",
		"team.yaml.liquid": string(blocks[1][1]), "prod.yaml.tpl": string(blocks[2][1]),
	})
	r.Values, r.ValuesFiles, r.Lua.Script = string(inline), service.Helm.ValuesFiles, service.Helm.LuaScript
	r.Liquid = liquid.New(map[string]any{
		"configuration": service.Configuration,
		"cluster":       map[string]any{"name": "big", "tags": map[string]any{"tier": "prod"}},
	}, time.Unix(0, 0))
	result, err := helm.Render(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := yaml.Marshal(data(t, result))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(blocks[3][1]), string(got)); diff != "" {
		t.Errorf("values (-page +got):\n%s", diff)
	}
}
