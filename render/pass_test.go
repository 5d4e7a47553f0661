package render_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	renderv1 "github.com/axle-cd/axle/api/render/v1"
	"github.com/axle-cd/axle/render/rendertest"
)

// from is a config map that tells its file.
func from(name, file string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {from: " + file + "}\n"
}

func TestSteps(t *testing.T) {
	files := rendertest.Files{
		"app/a.yaml":                        from("a", "raw") + "---\n" + from("b", "raw"),
		"app/k/kustomization.yaml":          "resources: [b.yaml]\n",
		"app/k/b.yaml":                      from("b", "kustomize"),
		"app/chart/Chart.yaml":              "apiVersion: v2\nname: c\nversion: 1.0.0\n",
		"app/chart/templates/c.yaml":        from("c", "{{ .Values.from }}"),
		"app/chart/values.yaml":             "from: chart\n",
		"shared/values.yaml":                "from: shared\n",
		"app/values/from-entry.yaml":        "from: entry\n",
		"elsewhere/kustomization.yaml":      "resources: [b.yaml]\n",
		"elsewhere/b.yaml":                  from("b", "elsewhere"),
		"app/chart/templates/d.yaml":        "{{ if .Values.d }}" + from("b", "helm") + "{{ end }}",
		"app/chart/values/near/chart.yaml":  "from: near\n",
		"app/own/kustomization.yaml":        "helmGlobals: {chartHome: ..}\nhelmCharts: [{name: chart, valuesInline: {from: inline, d: true}}]\n",
		"app/far/kustomization.yaml":        "resources:\n- https://git.example.test/a/b//c?ref=v1\nhelmCharts:\n- {name: c, repo: \"https://charts.example.test\", version: \">=1\"}\n",
		"liquid/kustomization.yaml.liquid":  "namePrefix: k-\nresources: [b.yaml]\n",
		"liquid/b.yaml.liquid":              from("b", "{{ 'templated' }}"),
		".axle/vendor.yaml":                 "version: 1\nbases: [{reference: \"https://git.example.test/a/b//c?ref=v1\", path: .axle/vendor/b}]\ncharts: [{repository: \"https://charts.example.test\", name: c, version: \">=1\", path: .axle/vendor/c}]\n",
		".axle/vendor/b/kustomization.yaml": "resources: [b.yaml]\n",
		".axle/vendor/b/b.yaml":             from("b", "vendored"),
		".axle/vendor/c/Chart.yaml":         "apiVersion: v2\nname: c\nversion: 1.0.0\n",
		".axle/vendor/c/templates/c.yaml":   from("c", "'{{ .Release.Name }}'"),
	}
	tests := map[string]struct {
		steps []*renderv1.Step
		want  string
		fail  string
	}{
		"later wins": {
			steps: []*renderv1.Step{{}, {Path: "k"}, {Path: "chart"}},
			want:  "a=raw b=kustomize c=chart",
		},
		"later still wins": {
			steps: []*renderv1.Step{{}, {Path: "k", Type: "AUTO"}, {Path: "chart", Type: "HELM", Helm: &renderv1.Helm{Values: "d: true"}}},
			want:  "a=raw c=chart b=helm",
		},
		"a folder beside the entry": {
			steps: []*renderv1.Step{{Path: "../elsewhere"}}, want: "b=elsewhere",
		},
		"values beside the chart, in the entry and in the root": {
			steps: []*renderv1.Step{{Path: "chart", Helm: &renderv1.Helm{ValuesFiles: []string{"values/near/chart.yaml", "values/from-entry.yaml"}}}},
			want:  "c=entry",
		},
		"values of the root": {
			steps: []*renderv1.Step{{Path: "chart", Helm: &renderv1.Helm{ValuesFiles: []string{"shared/values.yaml"}}}},
			want:  "c=shared",
		},
		"a chart of a kustomization": {
			steps: []*renderv1.Step{{Path: "own", KustomizeEnableHelm: true}},
			want:  "b=helm c=inline",
		},
		"vendored": {
			steps: []*renderv1.Step{{Path: "far", KustomizeEnableHelm: true}},
			want:  "b=vendored c=c",
		},
		"the template of a kustomization": {
			steps: []*renderv1.Step{{Path: "../liquid"}}, want: "k-b=templated",
		},
		"charts are off":  {steps: []*renderv1.Step{{Path: "own"}}, fail: "set kustomize.enableHelm"},
		"outside":         {steps: []*renderv1.Step{{Path: "../../x"}}, fail: "outside the service's files"},
		"unknown":         {steps: []*renderv1.Step{{Type: "TIMONI"}}, fail: `no renderer "TIMONI"`},
		"not a chart":     {steps: []*renderv1.Step{{Type: "HELM"}}, fail: "Chart.yaml"},
		"no kustomizaton": {steps: []*renderv1.Step{{Type: "KUSTOMIZE"}}, fail: "no kustomization.yaml"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			result := rendertest.Start(t).Pass(files, &renderv1.Begin{Name: "web", Namespace: "shop", Entry: "app", Steps: test.steps, Templated: true})
			if test.fail != "" {
				if failed := result.GetFailure(); !strings.Contains(failed.GetMessage()+failed.GetFile(), test.fail) {
					t.Errorf("got %v, want ...%s...", failed, test.fail)
				}
				return
			}
			var got []string
			for _, o := range result.GetObjects() {
				object := rendertest.Decode(t, o)
				got = append(got, fmt.Sprintf("%s=%s", object.Metadata.Name, object.Data["from"]))
			}
			if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("objects (-want +got):\n%s\n%v", diff, result.GetFailure())
			}
		})
	}
}

// TestLeftOut holds that what the hub left out is named, and fails only what reads it.
func TestLeftOut(t *testing.T) {
	files := rendertest.Files{
		"app/more/a.yaml":          from("a", "raw"),
		"app/k/kustomization.yaml": "resources: [../lib]\n",
		"chart/Chart.yaml":         "apiVersion: v2\nname: c\nversion: 1.0.0\n",
		"chart/templates/c.yaml":   from("c", "chart"),
		"packed/Chart.yaml":        "apiVersion: v2\nname: c\nversion: 1.0.0\ndependencies: [{name: sub, version: 1.0.0}]\n",
		"away/b.yaml":              from("b", "raw"),
		".axle/vendor.yaml": "version: 1\nleftOut:\n- {path: app/lib, reason: it is a submodule}\n- {path: away/l.yaml, reason: it is a link}\n" +
			"- {path: chart/README.md, reason: it is a link}\n- {path: packed/charts/sub, reason: it is a submodule}\n",
	}
	for name, test := range map[string]struct{ path, want, fail string }{
		"beside it":     {path: "more", want: "a"},
		"its folder":    {path: "lib", fail: "it is a submodule"},
		"a reference":   {path: "k", fail: `resources names "../lib": it is a submodule`},
		"a manifest":    {path: "../away", fail: "it is a link"},
		"a chart":       {path: "../chart", want: "c"},
		"of two charts": {path: "../packed", fail: "it is a submodule"},
	} {
		t.Run(name, func(t *testing.T) {
			result := rendertest.Start(t).Pass(files, &renderv1.Begin{Name: "web", Namespace: "shop", Entry: "app", Steps: []*renderv1.Step{{Path: test.path}}})
			if test.fail != "" {
				if failed := result.GetFailure(); !strings.Contains(failed.GetMessage(), test.fail) {
					t.Errorf("got %v, want ...%s...", failed, test.fail)
				}
				return
			}
			if len(result.GetObjects()) != 1 || rendertest.Decode(t, result.GetObjects()[0]).Metadata.Name != test.want {
				t.Errorf("objects %v, failure %v", result.GetObjects(), result.GetFailure())
			}
			if len(result.GetWarnings()) != 4 || result.GetWarnings()[0] != "app/lib: it is a submodule" {
				t.Errorf("warnings %q", result.GetWarnings())
			}
		})
	}
}

func TestWarningsAreCapped(t *testing.T) {
	files := rendertest.Files{"a.yaml": from("a", "a")}
	for i := range 50 {
		files[fmt.Sprintf("values-%d.yaml", i)] = "a: b\n"
	}
	result := rendertest.Start(t).Pass(files, &renderv1.Begin{})
	if n := len(result.GetWarnings()); n != 21 || result.GetWarnings()[20] != "30 more warnings" {
		t.Errorf("%d warnings: %q", n, result.GetWarnings())
	}
}

func TestResultTooLargeIsSaid(t *testing.T) {
	files := rendertest.Files{}
	for i := range 6 {
		files[fmt.Sprintf("%d.yaml", i)] = fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a%d}\ndata: {x: %q}\n", i, strings.Repeat("x", 12<<20))
	}
	failed := rendertest.Start(t).Pass(files, &renderv1.Begin{}).GetFailure()
	if !strings.Contains(failed.GetMessage(), "larger than 64 MiB together") {
		t.Errorf("got %v, want the size said", failed)
	}
}
