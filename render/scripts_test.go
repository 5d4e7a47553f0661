package render_test

import (
	"strings"
	"testing"

	renderv1 "github.com/axle-cd/axle/api/render/v1"
	"github.com/axle-cd/axle/render/rendertest"
)

// TestScriptsInTheChild: a service's scripts and templates run in the confined child;
// endless ones fail only their pass, and the same child renders the next.
func TestScriptsInTheChild(t *testing.T) {
	files := rendertest.Files{
		"app/Chart.yaml":       "apiVersion: v2\nname: c\nversion: 1.0.0\n",
		"app/templates/a.yaml": from("a", "{{ .Values.from }}"),
		"app/zone.liquid":      "from: {{ '15:04' | dateInZone: 'now', 'Asia/Tokyo' | replace: ':', '-' }}\n",
		"app/file.tpl":         "from: {{ .Service.name }}{{ .Configuration.color }}\n",
	}
	begin := func(h *renderv1.Helm) *renderv1.Begin {
		return &renderv1.Begin{
			Pass: "1", Name: "web", Namespace: "shop", Entry: "app", Templated: true, Service: `{"name":"web"}`,
			Configuration: map[string]string{"color": "green"}, Steps: []*renderv1.Step{{Type: "HELM", Helm: h}},
			Capabilities: &renderv1.Capabilities{KubernetesVersion: "v1.36.3"}, Now: 1_790_000_000_000_000,
		}
	}
	child := rendertest.Start(t)
	for _, test := range []struct {
		name string
		helm *renderv1.Helm
		want string
		fail string
	}{
		{"script", &renderv1.Helm{LuaScript: "values.from = configuration.color"}, "green", ""},
		{"endless loop", &renderv1.Helm{LuaScript: "while true do end"}, "", "million steps"},
		{"huge allocation", &renderv1.Helm{LuaScript: "t = {} for i = 1, 1e9 do t[i] = string.rep('x', 1e6) .. i end"}, "", "MiB of memory"},
		{"doubled text", &renderv1.Helm{LuaScript: "s = 'xxxxxxxx' while true do s = s .. s end"}, "", "the text would be too long"},
		{"no machine", &renderv1.Helm{LuaScript: "os.execute('true')"}, "", "attempt to index"},
		{"liquid", &renderv1.Helm{ValuesFiles: []string{"zone.liquid"}}, "23-13", ""},
		{"go template", &renderv1.Helm{ValuesFiles: []string{"file.tpl"}}, "webgreen", ""},
	} {
		result := child.Pass(files, begin(test.helm))
		if test.fail != "" {
			if !strings.Contains(result.GetFailure().GetMessage(), test.fail) {
				t.Errorf("%s: got %v, want ...%s...", test.name, result.GetFailure(), test.fail)
			}
			continue
		}
		if result.GetFailure() != nil || len(result.GetObjects()) != 1 || !strings.Contains(string(result.GetObjects()[0].GetJson()), test.want) {
			t.Errorf("%s: got %v, want %s", test.name, result, test.want)
		}
	}
}
