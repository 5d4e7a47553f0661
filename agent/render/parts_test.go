package render_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/agent/render"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/errcode"
)

// configMap is a manifest of a name with one value.
func configMap(name, value string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\ndata:\n  value: \"" + value + "\"\n"
}

var webChart = map[string]string{
	"Chart.yaml":         "apiVersion: v2\nname: web\nversion: 1.2.3\n",
	"values.yaml":        "colour: grey\nsize: small\n",
	"templates/cm.yaml":  "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\ndata:\n  value: {{ .Values.colour }}-{{ .Values.size }}\n",
	"values-staged.yaml": "colour: chart\n",
}

// The result of a service with several parts, by name and value of its ConfigMaps; a
// text that begins with "!" is part of the error.
func TestPartsArePutTogether(t *testing.T) {
	type tree struct {
		path, entry string
		files       map[string]string
	}
	overlay := map[string]string{
		"base/kustomization.yaml": "resources: [a.yaml]\n", "base/a.yaml": configMap("based", "1"),
		"apps/over/kustomization.yaml": "resources: [../../base]\nnamePrefix: over-\n",
	}
	tests := map[string]struct {
		parts  []tree
		render *agentv1.Render
		want   []string
	}{
		"side by side": {
			parts: []tree{{files: map[string]string{"a.yaml": configMap("a", "1")}}, {path: "more", files: map[string]string{"b.yaml": configMap("b", "2")}}},
			want:  []string{"a=1", "b=2"},
		},
		"only under paths, each with its renderer": {
			parts:  []tree{{path: "plain", files: map[string]string{"a.yaml": configMap("a", "1")}}, {path: "chart", files: webChart}},
			render: &agentv1.Render{Renderers: []*agentv1.Renderer{{Path: "chart", Type: "HELM", Helm: &agentv1.Helm{Values: "size: large"}}}},
			want:   []string{"a=1", "web=grey-large"},
		},
		"merged at the root": {
			parts: []tree{{files: map[string]string{"a/a.yaml": configMap("a", "1")}}, {files: map[string]string{"a/b.yaml": configMap("b", "2")}}},
			want:  []string{"a=1", "b=2"},
		},
		"the same file twice is one": {
			parts: []tree{{files: map[string]string{"LICENSE": "x", "a.yaml": configMap("a", "1")}}, {files: map[string]string{"LICENSE": "x", "a.yaml": configMap("a", "1")}}},
			want:  []string{"a=1"},
		},
		"one file, two contents": {
			parts: []tree{{files: map[string]string{"a.yaml": configMap("a", "1")}}, {files: map[string]string{"a.yaml": configMap("a", "2")}}},
			want:  []string{`!a.yaml: both part 0 at path "" and part 1 at path "" have this file`},
		},
		"a file where the other has a folder": {
			parts: []tree{{files: map[string]string{"x/a.yaml": configMap("a", "1")}}, {files: map[string]string{"x": "1"}}},
			want:  []string{`!x: both part 0`},
		},
		"a folder where the other has a file": {
			parts: []tree{{files: map[string]string{"x": "1"}}, {path: "x", files: map[string]string{"a.yaml": configMap("a", "1")}}},
			want:  []string{`!x: both part 0 at path "" and part 1 at path "x"`},
		},
		"names that differ in case": {
			parts: []tree{{files: map[string]string{"A.yaml": configMap("a", "1")}}, {files: map[string]string{"a.yaml": configMap("b", "1")}}},
			want:  []string{`!a.yaml: both part 0`},
		},
		"a part that writes into the agent's folder": {
			parts: []tree{{files: map[string]string{".axle-parts/1/a.yaml": "x"}}, {path: "over", entry: "apps/over", files: overlay}},
			want:  []string{"!.axle-parts/1/a.yaml: the name .axle-parts is kept"},
		},
		"a part that writes into the chart": {
			parts:  []tree{{files: map[string]string{".helm-chart/templates/evil.yaml": "x"}}, {path: ".helm-chart", files: webChart}},
			render: &agentv1.Render{Helm: &agentv1.Helm{ChartPath: ".helm-chart"}},
			want:   []string{"!the name .helm-chart is kept"},
		},
		"what a part refers to outside its folder": {
			parts:  []tree{{files: map[string]string{"a.yaml": configMap("a", "1")}}, {path: "over", entry: "apps/over", files: overlay}},
			render: &agentv1.Render{Renderers: []*agentv1.Renderer{{Path: "over", Type: "KUSTOMIZE"}}},
			want:   []string{"a=1", "over-based=1"},
		},
		"what the first part refers to outside its folder": {
			parts:  []tree{{entry: "apps/over", files: overlay}, {path: "more", files: map[string]string{"b.yaml": configMap("b", "2")}}},
			render: &agentv1.Render{Renderers: []*agentv1.Renderer{{Path: "more", Type: "RAW"}}},
			want:   []string{"b=2", "over-based=1"},
		},
		"hidden part without a renderer of its own": {
			parts: []tree{{files: map[string]string{"a.yaml": configMap("a", "1")}}, {path: "base", entry: "base", files: map[string]string{"base/b.yaml": configMap("b", "2"), "other/c.yaml": configMap("c", "3")}}},
			want:  []string{"a=1", "b=2"},
		},
		"a lone part under a path that refers outside": {
			parts:  []tree{{path: "over", entry: "apps/over", files: overlay}},
			render: &agentv1.Render{Renderers: []*agentv1.Renderer{{Path: "over", Type: "KUSTOMIZE"}}},
			want:   []string{"over-based=1"},
		},
		"a chart with the service's own values": {
			parts: []tree{
				{files: map[string]string{"values.yaml": "colour: blue\n", "values-staged.yaml": "size: huge\n", "ignored.yaml": configMap("ignored", "1")}},
				{path: ".helm-chart", files: webChart},
			},
			render: &agentv1.Render{Helm: &agentv1.Helm{ChartPath: ".helm-chart", ValuesFiles: []string{"values.yaml", "values-staged.yaml"}}},
			want:   []string{"web=blue-huge"},
		},
		"a chart whose values files are its own": {
			parts:  []tree{{files: map[string]string{"readme": "x"}}, {path: ".helm-chart", files: webChart}},
			render: &agentv1.Render{Helm: &agentv1.Helm{ChartPath: ".helm-chart", ValuesFiles: []string{"values-staged.yaml"}, Values: "size: inline"}},
			want:   []string{"web=chart-inline"},
		},
	}
	runner := newRunner(t, render.Config{})
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pass, err := render.FromSpec(&agentv1.ServiceSpec{Name: "shop", Namespace: "shop", Render: test.render}, "")
			if err != nil {
				t.Fatal(err)
			}
			for i, p := range test.parts {
				pass.Parts = append(pass.Parts, render.Part{Name: "part " + string(rune('0'+i)), Dir: folder(t, p.files), Path: p.path, Entry: p.entry})
			}
			result, err := runner.Render(patient(t), pass)
			if fail, ok := strings.CutPrefix(test.want[0], "!"); ok {
				if !errcode.Is(err, errcode.Invalid) || !strings.Contains(err.Error(), fail) {
					t.Errorf("got %v, want invalid: ...%s...", err, fail)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, valuesOf(t, result)); diff != "" {
				t.Errorf("objects (-want +got):\n%s%v", diff, result.Warnings)
			}
		})
	}
}

// A part cannot write outside its path, nor read outside its own tree.
func TestPartsStayInTheirPlaces(t *testing.T) {
	outside := folder(t, map[string]string{"secret.yaml": configMap("stolen", "1")})
	linked := folder(t, map[string]string{"a.yaml": configMap("a", "1")})
	if err := os.Symlink(filepath.Join(outside, "secret.yaml"), filepath.Join(linked, "b.yaml")); err != nil {
		t.Fatal(err)
	}
	_, err := newRunner(t, render.Config{}).Render(patient(t), render.Pass{Name: "shop", Parts: []render.Part{
		{Name: "git", Dir: folder(t, map[string]string{"c.yaml": configMap("c", "1")})}, {Name: "sources[0]", Dir: linked, Path: "more"},
	}})
	if !errcode.Is(err, errcode.Invalid) || !strings.Contains(err.Error(), "more/b.yaml") {
		t.Errorf("got %v, want the link refused by its name", err)
	}
}

// valuesOf lists "name=value" of ConfigMaps, sorted.
func valuesOf(t *testing.T, result render.Result) []string {
	t.Helper()
	var all []string
	for _, o := range result.Objects {
		text := string(o.JSON)
		all = append(all, between(text, `"name":"`)+"="+between(text, `"value":"`))
	}
	slices.Sort(all)
	return all
}

func between(text, start string) string {
	_, rest, _ := strings.Cut(text, start)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}
