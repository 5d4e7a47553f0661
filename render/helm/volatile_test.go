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
