package helm_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/internal/liquid"
	"github.com/axle-cd/axle/internal/manifest"
	"github.com/axle-cd/axle/render/helm"
)

// templated is a request whose templates see a service's data.
func templated(t *testing.T, files map[string]string) helm.Request {
	t.Helper()
	r := request(t, files)
	r.Liquid = liquid.New(map[string]any{
		"configuration": map[string]any{"color": "green"},
		"cluster":       map[string]any{"id": "c1", "name": "one", "tags": map[string]any{"tier": "prod"}},
		"service":       map[string]any{"name": "web"},
	}, r.Now)
	return r
}

// TestPrecedence gives each place a value that all places below it have too.
func TestPrecedence(t *testing.T) {
	files := map[string]string{
		"templates/a.yaml":   settings + "{{ toYaml .Values | indent 2 }}\n",
		"values.yaml":        "a: chart\nb: chart\nc: chart\nd: chart\ne: chart\n",
		"values.yaml.liquid": "b: beside\nc: beside\nd: beside\ne: beside\n",
		"one.yaml.liquid":    "c: one-{{ configuration.color }}\nd: one\ne: one\n",
		"two.yaml.tpl":       "d: two-{{ .Cluster.Name }}\ne: two\n",
	}
	r := templated(t, files)
	r.ValuesFiles, r.Values = []string{"one.yaml.liquid", "two.yaml.tpl"}, "e: inline\n"
	result, err := helm.Render(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"a": "chart", "b": "beside", "c": "one-green", "d": "two-one", "e": "inline"}
	if diff := cmp.Diff(want, data(t, result)); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	r.ValuesFiles = []string{"two.yaml.tpl", "one.yaml.liquid"}
	if result, err = helm.Render(t.Context(), r); err != nil || data(t, result)["d"] != "one" {
		t.Errorf("the other order: %v, %v", result, err)
	}
}

func TestGoTemplateValues(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"capital":      {"{{ .Cluster.ID }}-{{ .Service.Name }}", "c1-web"},
		"as liquid":    {"{{ .cluster.name }}", "one"},
		"map":          {"{{ .Configuration.color }}-{{ .Cluster.Tags.tier }}", "green-prod"},
		"missing":      {"[{{ .Configuration.none }}]", "[]"},
		"sprig":        {"{{ .Configuration.color | upper | trunc 3 }}", "GRE"},
		"revision":     {`{{ now | date "2006" }}`, "2026"},
		"include":      {`{{ include "hello" .Cluster.Name }}`, "hello one"},
		"include file": {`{{ include "more.tpl" . | trim }}`, "more green"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := templated(t, map[string]string{
				"templates/a.yaml": settings + "  x: {{ .Values.x | quote }}\n", "v/values.yaml.tpl": "x: '" + test.text + "'\n",
				"v/named.tpl": `{{ define "hello" }}hello {{ . }}{{ end }}`, "v/more.tpl": "more {{ .Configuration.color }}\n",
			})
			r.ValuesFiles = []string{"v/values.yaml.tpl"}
			result, err := helm.Render(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if got := data(t, result)["x"]; got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestBadValuesTemplates(t *testing.T) {
	tests := map[string]struct {
		file, text, want string
		line             int
	}{
		"syntax":      {"a.tpl", "x: 1\ny: {{ if }}", "missing value for if", 2},
		"fail":        {"a.tpl", "x: 1\n\ny: {{ fail \"set it\" }}", "set it", 3},
		"environment": {"a.tpl", `x: {{ env "HOME" }}`, `"env" not defined`, 1},
		"circle":      {"a.tpl", `{{ define "x" }}{{ include "x" . }}{{ end }}{{ include "x" . }}`, "include each other", 1},
		"too long":    {"a.tpl", `{{ range until 1000 }}{{ repeat 10000 "x" }}{{ end }}`, "more than 8 MiB", 0},
		"liquid":      {"a.liquid", "x: 1\ny: {{ 'a' | add: 1 }}", "is not a number", 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := templated(t, map[string]string{"templates/a.yaml": settings, test.file: test.text})
			r.ValuesFiles = []string{test.file}
			_, err := helm.Render(t.Context(), r)
			var bad *manifest.Error
			if !errors.As(err, &bad) || bad.File != test.file || bad.Line != test.line || !strings.Contains(bad.Message, test.want) {
				t.Errorf("got %+v, want %s:%d: ...%s...", bad, test.file, test.line, test.want)
			}
		})
	}
}

// TestGeneratedInValuesFilesIsMarked: values generated in values files are as
// volatile as those of a chart.
func TestGeneratedInValuesFilesIsMarked(t *testing.T) {
	for file, text := range map[string]string{
		"v.liquid": "x: {{ 12 | randAlphaNum }}\n", "v.tpl": "x: {{ randAlphaNum 12 }}\n",
	} {
		t.Run(file, func(t *testing.T) {
			r := templated(t, map[string]string{"templates/a.yaml": settings + "  x: {{ .Values.x }}\n  y: fixed\n", file: text})
			r.ValuesFiles = []string{file}
			result, err := helm.Render(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"/data/x"}, result.Objects[0].Volatile); diff != "" {
				t.Errorf("volatile (-want +got):\n%s", diff)
			}
		})
	}
	r := templated(t, map[string]string{"templates/a.yaml": settings + "  x: {{ .Values.x | quote }}\n", "v.liquid": "x: {{ 'now' | date: '%s' }}\n"})
	r.ValuesFiles, r.Now = []string{"v.liquid"}, time.Unix(7, 0)
	if result, err := helm.Render(t.Context(), r); err != nil || len(result.Objects[0].Volatile) != 0 {
		t.Errorf("the clock stands still: %v, %v", result, err)
	}
}
