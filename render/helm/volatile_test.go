package helm_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/render/helm"
)

// TestWhatDiffersIsFoundWhereverItIsFrom renders charts whose templates reach a generating
// function by each of the ways that there are: each value that differs has its mark, and no
// other one. The engine runs the last names first.
func TestWhatDiffersIsFoundWhereverItIsFrom(t *testing.T) {
	object := func(name, data string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: { " + data + " }\n"
	}
	const helper = `{{ define "pw" }}{{ randAlpha 20 }}{{ end }}`
	for name, tt := range map[string]struct {
		files map[string]string
		want  string
	}{
		"in the template itself": {map[string]string{"templates/a.yaml": object("a", "x: {{ randAlpha 20 }}"), "templates/b.yaml": object("b", "x: y")}, "a/data/x"},
		"by a helper":            {map[string]string{"templates/_h.tpl": helper, "templates/a.yaml": object("a", `x: {{ include "pw" . }}`), "templates/b.yaml": object("b", "x: y")}, "a/data/x"},
		"by a helper of a helper": {map[string]string{"templates/_h.tpl": helper, "templates/_g.tpl": `{{ define "more" }}{{ template "pw" . }}{{ end }}`,
			"templates/a.yaml": object("a", `x: {{ include "more" . }}`)}, "a/data/x"},
		"by a name in other quotes": {map[string]string{"templates/_h.tpl": "{{ define `pw` }}{{ randAlpha 20 }}{{ end }}", "templates/a.yaml": object("a", "x: {{ include `pw` . }}"),
			"templates/b.yaml": object("b", `x: {{ include "pw" . }}`)}, "a/data/x b/data/x"},
		"by a computed name": {map[string]string{"templates/_h.tpl": helper, "templates/a.yaml": object("a", `x: {{ include (printf "p%s" "w") . }}`),
			"templates/b.yaml": object("b", `{{- $name := "pw" }}x: {{ include $name . }}`)}, "a/data/x b/data/x"},
		"by a block":               {map[string]string{"templates/a.yaml": object("a", `x: {{ block "pw" . }}{{ randAlpha 20 }}{{ end }}`), "templates/b.yaml": object("b", `x: {{ include "pw" . }}`)}, "a/data/x b/data/x"},
		"by the check sum":         {map[string]string{"templates/a.yaml": object("a", "x: {{ randAlpha 20 }}"), "templates/b.yaml": object("b", `x: {{ include (print $.Template.BasePath "/a.yaml") . | sha256sum | quote }}`)}, "a/data/x b/data/x"},
		"beside a check sum":       {map[string]string{"templates/a.yaml": object("a", "x: y"), "templates/b.yaml": object("b", `r: {{ randAlpha 20 }}, x: {{ include (print $.Template.BasePath "/a.yaml") . | sha256sum | quote }}`)}, "b/data/r"},
		"by a computed path":       {map[string]string{"templates/a.yaml": object("a", "x: y"), "templates/b.yaml": object("b", `r: {{ randAlpha 20 }}, x: {{ include (printf "%s/%s.yaml" $.Template.BasePath "a") . | sha256sum | quote }}`)}, "b/data/r"},
		"by the path of a file":    {map[string]string{"templates/a.yaml": object("a", "x: {{ randAlpha 20 }}"), "templates/b.yaml": object("b", `x: {{ include "web/templates/a.yaml" . | sha256sum | quote }}`)}, "a/data/x b/data/x"},
		"by values":                {map[string]string{"values.yaml": "text: '{{ randAlpha 20 }}'\n", "templates/a.yaml": object("a", "x: {{ tpl .Values.text . }}")}, "a/data/x"},
		"by a helper in values":    {map[string]string{"values.yaml": "text: '{{ include \"pw\" . }}'\n", "templates/_h.tpl": helper, "templates/a.yaml": object("a", "x: {{ tpl .Values.text . }}")}, "a/data/x"},
		"by a file":                {map[string]string{"conf/a.txt": "{{ randAlpha 20 }}", "templates/a.yaml": object("a", `x: {{ tpl (.Files.Get "conf/a.txt") . }}`)}, "a/data/x"},
		"by what another one sets": {map[string]string{"templates/z.yaml": object("a", `{{- $_ := set .Values "x" (randAlpha 20) }}x: y`), "templates/b.yaml": object("b", "x: {{ .Values.x }}")}, "b/data/x"},
		"beside what another one sets": {map[string]string{"templates/z.yaml": object("a", `{{- $_ := set .Values "x" "set" }}x: y`), "templates/b.yaml": object("b", "r: {{ randAlpha 20 }}, x: {{ .Values.x }}"),
			"values.yaml": "x: chart\n"}, "b/data/r"},
		"beside what a helper sets": {map[string]string{"templates/_h.tpl": `{{ define "init" }}{{ $_ := set .Values "x" "set" }}{{ end }}`, "templates/z.yaml": object("a", `{{- include "init" . }}x: y`),
			"templates/b.yaml": object("b", "r: {{ randAlpha 20 }}, x: {{ .Values.x }}"), "values.yaml": "x: chart\n"}, "b/data/r"},
		"by what another one merges": {map[string]string{"templates/z.yaml": object("a", `{{- $_ := merge .Values (dict "x" (randAlpha 20)) }}x: y`), "templates/b.yaml": object("b", "x: {{ .Values.x }}")}, "b/data/x"},
		"by what another one sets inside a map of its own": {map[string]string{"values.yaml": "m: {n: o}\n", "templates/z.yaml": object("a", `{{- $d := dict "m" .Values.m }}{{ $_ := set $d.m "x" (randAlpha 20) }}x: y`),
			"templates/b.yaml": object("b", "x: {{ .Values.m.x }}")}, "b/data/x"},
		"by what another one merges into a map of its own": {map[string]string{"values.yaml": "m: {n: o}\n", "templates/z.yaml": object("a", `{{- $d := dict "m" .Values.m }}{{ $_ := merge $d (dict "m" (dict "x" (randAlpha 20))) }}x: y`),
			"templates/b.yaml": object("b", "x: {{ .Values.m.x }}")}, "b/data/x"},
		"by what a template of its own time gave": {map[string]string{"templates/z.yaml": object("a", `{{- $d := dict }}{{ $_ := set .Values "m" $d }}{{ $_ := set $d "x" (randAlpha 20) }}x: y`),
			"templates/b.yaml": object("b", "x: {{ .Values.m.x }}")}, "b/data/x"},
		"by what stands in the scope": {map[string]string{"templates/z.yaml": object("a", `{{- $_ := set . "x" (randAlpha 20) }}x: y`), "templates/b.yaml": object("b", "x: {{ .x }}")}, "b/data/x"},
		"beside an order of the chart": {map[string]string{"Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\nkeywords: [b, a]\n", "templates/z.yaml": object("a", `x: {{ sortAlpha .Chart.keywords | join "" }}`),
			"templates/b.yaml": object("b", `r: {{ randAlpha 20 }}, x: {{ join "" .Chart.keywords }}`)}, "b/data/r"},
		"beside a definition in a file of objects": {map[string]string{"templates/z.yaml": object("a", "x: y") + `{{ define "d" }}z{{ end }}`, "templates/b.yaml": object("b", `r: {{ randAlpha 20 }}, x: {{ include "d" . }}`)}, "b/data/r"},
		"by a chart with another name": {map[string]string{"Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies:\n- {name: sub, version: 1.0.0, alias: one}\n- {name: sub, version: 1.0.0, alias: two}\n",
			"values.yaml": "two: {given: y}\n", "charts/sub/Chart.yaml": "apiVersion: v2\nname: sub\nversion: 1.0.0\n",
			"charts/sub/templates/a.yaml": object("a-{{ .Chart.Name }}", "x: {{ .Values.given | default (randAlpha 20) }}")}, "a-one/data/x"},
		"by a chart below":      {map[string]string{"charts/sub/Chart.yaml": "apiVersion: v2\nname: sub\nversion: 1.0.0\n", "charts/sub/templates/_h.tpl": helper, "templates/a.yaml": object("a", `x: {{ include "pw" . }}`), "templates/b.yaml": object("b", "x: y")}, "a/data/x"},
		"in an order":           {map[string]string{"values.yaml": "m: {" + manyKeys + "}\n", "templates/a.yaml": object("a", `x: {{ keys .Values.m | join "-" }}`)}, "a/data/x"},
		"in no order":           {map[string]string{"values.yaml": "m: {one: 1}\n", "templates/a.yaml": object("a", `x: {{ keys .Values.m | join "-" }}`)}, ""},
		"named, and not called": {map[string]string{"templates/a.yaml": object("a", `x: {{ if .Values.password }}{{ randAlpha 20 }}{{ else }}y{{ end }}`)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := helm.Render(t.Context(), request(t, tt.files))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, o := range result.Objects {
				for _, pointer := range o.Volatile {
					got = append(got, o.Key("").Name+pointer)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// manyKeys have no order that comes by chance twice.
var manyKeys = func() string {
	var all []string
	for _, a := range "abcdefghij" {
		for _, b := range "abcdefghij" {
			all = append(all, "k"+string(a)+string(b)+": 1")
		}
	}
	return strings.Join(all, ", ")
}()

// TestTemplatesThatCannotDifferRunOnce counts how often templates ask for an object: those that
// neither generate anything nor change what others see run in the first render alone.
func TestTemplatesThatCannotDifferRunOnce(t *testing.T) {
	const object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %}\ndata: {x: y}\n"
	const asks = `{{ $asked := lookup "v1" "Secret" "front" "name" }}`
	for name, tt := range map[string]struct {
		asking, generating string
		want               int
	}{
		"it only asks":                          {asks, "{{ $x := randAlpha 20 }}", 1},
		"it changes a map of its own":           {asks + `{{ $d := dict "a" "b" }}{{ $_ := set $d "x" $asked }}`, "{{ $x := randAlpha 20 }}", 1},
		"it changes the values":                 {asks + `{{ $_ := set .Values "x" "y" }}`, "{{ $x := randAlpha 20 }}", 2},
		"it generates":                          {asks + "{{ $x := randAlpha 20 }}", "", 2},
		"another one generates and changes":     {asks, `{{ $_ := set .Values "x" (randAlpha 20) }}`, 2},
		"another one includes it by its file":   {asks, `{{ $x := randAlpha 20 }}{{ $y := include "web/templates/a.yaml" . }}`, 4},
		"nobody generates":                      {asks, "", 1},
		"a chart that ends where nothing began": {asks, "{{ axleFileEnds }}{{ axleFileEnds }}{{ $x := randAlpha 20 }}", 2},
	} {
		t.Run(name, func(t *testing.T) {
			r := request(t, map[string]string{
				"templates/a.yaml": tt.asking + strings.Replace(object, "%", "a", 1), "templates/b.yaml": tt.generating + strings.Replace(object, "%", "b", 1)})
			count := 0
			r.Lookup = func(_, _, _, _ string) (map[string]any, error) { count++; return map[string]any{}, nil }
			if _, err := helm.Render(t.Context(), r); err != nil || count != tt.want {
				t.Errorf("it asked %d times, want %d; %v", count, tt.want, err)
			}
		})
	}
}

// TestErrorsHaveTheColumnsOfTheFile: what is put before the first line of a template, to notice
// when it runs, moves nothing that an error names.
func TestErrorsHaveTheColumnsOfTheFile(t *testing.T) {
	_, err := helm.Render(t.Context(), request(t, map[string]string{
		"values.yaml": "configs:\n", "templates/a.yaml": "{{- if .Values.configs.params.create }}x: y\n{{- end }}\n",
		"templates/b.yaml": "x: {{ include (print $.Template.BasePath \"/a.yaml\") . | sha256sum }}\n",
	}))
	const want = "web/templates/a.yaml:1:14"
	if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "axle") {
		t.Errorf("%v, want one with %s", err, want)
	}
}
