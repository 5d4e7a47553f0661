package render_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/agent/render"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/render/rendertest"
)

// from is a config map that tells who rendered it.
func from(name, who string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {from: " + who + "}\n"
}

// TestLaterMakersWin: one service with a renderer of every kind, each of which
// renders the same objects as the one before.
func TestLaterMakersWin(t *testing.T) {
	box := toolbox(t)
	copyFile(t, rendertest.Printer(t, "wasip1/wasm"), filepath.Join(box, "module.wasm"))
	runner := rareRunner(t, render.Config{Tools: box})
	dir := folder(t, map[string]string{
		"a.yaml":                   from("a", "raw") + "---\n" + from("b", "raw"),
		"j/main.jsonnet":           "local c = std.extVar('configuration'); [{apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: n}, data: {from: 'jsonnet ' + c.color}} for n in ['b', 'c']]",
		"cue/cue.mod/module.cue":   "module: \"example.test/x@v0\"\nlanguage: version: \"v0.12.0\"\n",
		"cue/main.cue":             "package x\n\ncolor: string @tag(color)\n[string]: _\nfor n in [\"c\", \"d\"] {(n): {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: n, data: from: \"cue \\(color)\"}}\n",
		"exec/x.yaml":              from("d", "exec") + "---\n" + from("e", "exec"),
		"wasm/x.yaml":              from("e", "wasm") + "---\n" + from("f", "wasm"),
		"post/kustomization.yaml":  "nameSuffix: \"\"\npatches: [{patch: '[{\"op\": \"add\", \"path\": \"/data/post\", \"value\": \"yes\"}]', target: {kind: ConfigMap}}]\n",
		"chart/Chart.yaml":         chart,
		"chart/templates/one.yaml": from("f", "helm"),
	})
	pass := render.Pass{
		Project: "p", Name: "web", Namespace: "shop", Folder: dir, Configuration: map[string]string{"color": "green", "unused": "x"},
		Steps: []render.Step{
			{}, {Path: "j"}, {Path: "cue", Postrender: "post"}, {Path: "exec", Type: "EXEC", Tool: "printer"},
			{Path: "wasm", Type: "WASM", Tool: "module", Postrender: "post"}, {Path: "chart"},
		},
	}
	result, err := runner.Render(patient(t), pass)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range result.Objects {
		var object struct {
			Metadata struct{ Name string }
			Data     map[string]string
		}
		if err := json.Unmarshal(o.JSON, &object); err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.TrimSpace(object.Metadata.Name+"="+object.Data["from"]+" "+object.Data["post"]))
	}
	want := []string{"a=raw", "b=jsonnet green", "c=cue green yes", "d=exec", "e=wasm yes", "web= yes", "f=helm"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}

func TestRareLimitsEndThePassOnly(t *testing.T) {
	tests := map[string]struct {
		timeout time.Duration
		files   map[string]string
		want    string
	}{
		"jsonnet that goes on": {
			timeout: 2 * time.Second,
			files:   map[string]string{"main.jsonnet": "local f(n) = if n < 0 then 0 else f(n + 1) tailstrict; f(1)"},
			want:    "rendering ",
		},
		"jsonnet that recurses": {
			files: map[string]string{"main.jsonnet": "local f(n) = 1 + f(n + 1); f(1)"},
			want:  "max stack frames exceeded",
		},
		"jsonnet that grows": {
			files: map[string]string{"main.jsonnet": "[std.length(std.repeat('0123456789abcdef', 1e9))]"},
			want:  "rendering ",
		},
		"cue that goes on": {
			timeout: 5 * time.Second,
			files: map[string]string{
				"cue.mod/module.cue": "module: \"example.test/x@v0\"\nlanguage: version: \"v0.12.0\"\n",
				"a.cue":              "package x\n\nimport \"list\"\n\na: [for i in list.Range(0, 10000000, 1) {list.Range(0, i, 1)}]\n",
			},
			want: "rendering ",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runner := rareRunner(t, render.Config{Timeout: test.timeout})
			_, err := runner.Render(patient(t), render.Pass{Project: "p", Name: "a", Folder: folder(t, test.files)})
			if err == nil || !strings.Contains(err.Error(), test.want) || errcode.Of(err) == errcode.Internal {
				t.Errorf("got %q (%s), want %q", err, errcode.Of(err), test.want)
			}
			works(t, newRunner(t, render.Config{}))
		})
	}
}

// TestWithoutTheRareProgram: the usual renderers work without it, and a service that
// needs another one reports what is missing.
func TestWithoutTheRareProgram(t *testing.T) {
	alone := filepath.Join(t.TempDir(), "axle-render")
	if err := os.Link(binary, alone); err != nil {
		copyFile(t, binary, alone)
	}
	runner := newRunner(t, render.Config{Binary: alone})
	works(t, runner)
	_, err := runner.Render(patient(t), render.Pass{Project: "p", Name: "a", Folder: folder(t, map[string]string{"main.jsonnet": "[]"})})
	if !errcode.Is(err, errcode.Unavailable) || !strings.Contains(err.Error(), "axle-render-rare does not start") {
		t.Errorf("got %v, want the missing program", err)
	}
	works(t, runner)
}
