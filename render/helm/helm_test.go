package helm_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/internal/liquid"
	"github.com/axle-cd/axle/internal/manifest"
	"github.com/axle-cd/axle/internal/tree"
	"github.com/axle-cd/axle/render/helm"
)

const (
	chartYAML = "apiVersion: v2\nname: web\nversion: 1.0.0\n"
	settings  = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata:\n"
)

// seal makes a tree of files; a text "-> x" is a link to x.
func seal(t *testing.T, files map[string]string) *tree.Tree {
	t.Helper()
	out := tree.New()
	for name, text := range files {
		err := out.Add(name, []byte(text))
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			err = out.Link(name, target)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Seal(); err != nil {
		t.Fatal(err)
	}
	return out
}

// request renders files as a chart at their root.
func request(t *testing.T, files map[string]string) helm.Request {
	t.Helper()
	all := map[string]string{"Chart.yaml": chartYAML}
	for name, text := range files {
		all[name] = text
	}
	return helm.Request{
		Tree: seal(t, all), Dir: ".", Release: "shop", Namespace: "front",
		KubernetesVersion: "v1.36.3", APIVersions: []string{"v1", "apps/v1"},
		Now: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC),
	}
}

// data is the data of the only object.
func data(t *testing.T, r *helm.Result) map[string]any {
	t.Helper()
	if len(r.Objects) != 1 {
		t.Fatalf("%d objects, want one", len(r.Objects))
	}
	out, _ := r.Objects[0].Data["data"].(map[string]any)
	return out
}

func TestPrecedenceOfValues(t *testing.T) {
	r := request(t, map[string]string{
		"values.yaml":        "a: chart\nb: chart\nc: chart\nd: chart\ne: {first: chart, second: chart}\ngone: chart\n",
		"values.yaml.liquid": "b: {{ configuration.color }}\nc: liquid\nd: liquid\n",
		"one.yaml":           "c: one\nd: one\ne: {second: one}\n",
		"two.yaml.liquid":    "d: {{ configuration.color }}-two\n",
		"templates/a.yaml":   settings + "  out: {{ toJson .Values | quote }}\n",
	})
	r.ValuesFiles = []string{"one.yaml", "two.yaml.liquid"}
	r.Values = "e: {third: inline}\ngone: null\n"
	r.Liquid = liquid.New(map[string]any{"configuration": map[string]any{"color": "green"}}, r.Now)
	result, err := helm.Render(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(data(t, result)["out"].(string)), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"a": "chart", "b": "green", "c": "one", "d": "green-two",
		"e": map[string]any{"first": "chart", "second": "one", "third": "inline"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

func TestWhatTemplatesSee(t *testing.T) {
	r := request(t, map[string]string{"templates/a.yaml": settings + `
  release: "{{ .Release.Name }} {{ .Release.Namespace }} {{ .Release.IsInstall }} {{ .Release.IsUpgrade }} {{ .Release.Revision }} {{ .Release.Service }}"
  version: "{{ .Capabilities.KubeVersion }} {{ .Capabilities.KubeVersion.Major }} {{ .Capabilities.KubeVersion.Minor }}"
  has: "{{ .Capabilities.APIVersions.Has "apps/v1" }} {{ .Capabilities.APIVersions.Has "batch/v1" }}"
  now: "{{ now | date "2006-01-02" }}"
  host: "{{ getHostByName "localhost" }}"
  found: "{{ (lookup "v1" "Secret" "front" "s").data.key }}"
  missing: "{{ empty (lookup "v1" "Secret" "front" "none") }}"
`})
	r.Lookup = func(apiVersion, kind, namespace, name string) (map[string]any, error) {
		if apiVersion+kind+namespace+name == "v1Secretfronts" {
			return map[string]any{"data": map[string]any{"key": "live"}}, nil
		}
		return map[string]any{}, nil
	}
	result, err := helm.Render(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"release": "shop front true false 1 Helm", "version": "v1.36.3 1 36", "has": "true false",
		"now": "2026-11-01", "host": "", "found": "live", "missing": "true",
	}
	if diff := cmp.Diff(want, data(t, result)); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"apps/v1", "batch/v1"}, result.Asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

func TestWholeListOfVersionsIsAsked(t *testing.T) {
	result, err := helm.Render(t.Context(), request(t, map[string]string{
		"templates/a.yaml": settings + "  count: \"{{ len .Capabilities.APIVersions }} {{ has \"apps/v1\" .Capabilities.APIVersions }}\"\n",
	}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"*"}, result.Asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	if got := data(t, result)["count"]; got != "2 true" {
		t.Errorf("got %v, want the cluster's list", got)
	}
}

func TestFailedLookupFailsThePass(t *testing.T) {
	r := request(t, map[string]string{"templates/a.yaml": settings + "  x: {{ lookup \"v1\" \"Secret\" \"a\" \"b\" }}\n"})
	r.Lookup = func(string, string, string, string) (map[string]any, error) {
		return nil, errors.New("the server is away")
	}
	_, err := helm.Render(t.Context(), r)
	if err == nil || !strings.Contains(err.Error(), "the server is away") {
		t.Errorf("got %v, want the lookup's error", err)
	}
}

func TestHooks(t *testing.T) {
	files := map[string]string{}
	for _, hook := range []string{"pre-install", "test", "test-success", "post-upgrade,test", "pre-delete"} {
		files["templates/"+strings.ReplaceAll(hook, ",", "-")+".yaml"] = "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: " +
			strings.ReplaceAll(hook, ",", "-") + "\n  annotations: {helm.sh/hook: \"" + hook + "\"}\n"
	}
	files["templates/plain.yaml"] = settings
	tests := map[string]struct {
		ignore bool
		want   []string
	}{
		"kept":    {want: []string{"settings", "post-upgrade-test", "pre-delete", "pre-install"}},
		"ignored": {ignore: true, want: []string{"settings"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := request(t, files)
			r.IgnoreHooks = test.ignore
			result, err := helm.Render(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(sorted(test.want), sorted(names(result))); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSubcharts(t *testing.T) {
	files := map[string]string{
		"Chart.yaml": chartYAML + "dependencies:\n- {name: lit, version: 1.x.x, condition: lit.enabled}\n- {name: dark, version: 1.0.0, condition: dark.enabled}\n" +
			"- {name: near, version: 1.0.0, repository: \"file://./lib/near\"}\n",
		"values.yaml":                 "lit: {enabled: true, color: green}\ndark: {enabled: false}\n",
		"charts/lit/Chart.yaml":       "apiVersion: v2\nname: lit\nversion: 1.2.3\n",
		"charts/lit/templates/a.yaml": strings.Replace(settings, "settings", "lit", 1) + "  color: {{ .Values.color }}\n",
		"charts/dark/Chart.yaml":      "apiVersion: v2\nname: dark\nversion: 1.0.0\n",
		"charts/dark/templates/a.yml": strings.Replace(settings, "settings", "dark", 1),
		"lib/near/Chart.yaml":         "apiVersion: v2\nname: near\nversion: 1.0.0\n",
		"lib/near/templates/a.yaml":   strings.Replace(settings, "settings", "near", 1),
	}
	result, err := helm.Render(t.Context(), request(t, files))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"lit", "near"}, sorted(names(result))); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	delete(files, "charts/dark/Chart.yaml")
	delete(files, "charts/dark/templates/a.yml")
	fails(t, request(t, files), "Chart.yaml", 0, "depends on dark 1.0.0")
}

func TestGeneratedValuesAreVolatile(t *testing.T) {
	result, err := helm.Render(t.Context(), request(t, map[string]string{
		"templates/a.yaml": settings + "  fixed: a\n  password: {{ randAlphaNum 20 }}\n  a~b/c: {{ uuidv4 }}\n",
	}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/data/a~0b~1c", "/data/password"}, result.Objects[0].Volatile); diff != "" {
		t.Errorf("volatile (-want +got):\n%s", diff)
	}
	fails(t, request(t, map[string]string{
		"templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"x{{ randNumeric 12 }}\"}\n",
	}), "templates/a.yaml", 0, "differs in each render")
}

// TestObjectsRenderedTwice: Helm applies each in turn. Equal ones are one object,
// and of CRDs that differ the last one stays, a subchart's after its parent's.
func TestObjectsRenderedTwice(t *testing.T) {
	crd := func(name, kind string) string {
		return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: " + name + "}\nspec: {names: {kind: " + kind + "}}\n"
	}
	result, err := helm.Render(t.Context(), request(t, map[string]string{
		"Chart.yaml":                  chartYAML + "dependencies: [{name: sub}]\n",
		"crds/a.yaml":                 crd("things", "OfParent") + "---\n" + crd("equals", "Equal"),
		"crds/b.yaml":                 crd("others", "Other"),
		"templates/a.yaml":            settings + "---\n" + settings,
		"templates/b.yaml":            settings,
		"charts/sub/Chart.yaml":       "apiVersion: v2\nname: sub\nversion: 1.0.0\n",
		"charts/sub/crds/a.yaml":      crd("things", "OfSubchart"),
		"charts/sub/crds/b.yaml":      crd("equals", "Equal"),
		"charts/sub/templates/a.yaml": settings,
	}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"things", "equals", "others", "settings"}, names(result)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	spec, _ := result.Objects[0].Data["spec"].(map[string]any)
	if kind := spec["names"].(map[string]any)["kind"]; kind != "OfSubchart" || result.Objects[0].Source != "charts/sub/crds/a.yaml" || !result.Objects[0].CRD {
		t.Errorf("%v of %s", kind, result.Objects[0].Source)
	}
	if len(result.Warnings) != 1 || !strings.Contains(result.Warnings[0], "CustomResourceDefinition.apiextensions.k8s.io front/things") || !strings.Contains(result.Warnings[0], "crds/a.yaml") {
		t.Errorf("warnings %q", result.Warnings)
	}
}

// TestDocumentsAreSplitAsHelmDoes: blanks in front of a document do not count, and what
// follows three dashes begins one.
func TestDocumentsAreSplitAsHelmDoes(t *testing.T) {
	const rest = "kind: ConfigMap\nmetadata: {name: %s}\n"
	one := func(name string) string { return strings.ReplaceAll(rest, "%s", name) }
	for name, text := range map[string]string{
		"blanks in front of the first marker": "  \n\t\n   ---\napiVersion: v1\n" + one("a") + "---\napiVersion: v1\n" + one("b"),
		"blanks in front of a document":       "---\n \t \n\n   apiVersion: v1\n" + one("a") + "---   \n\t\n  apiVersion: v1\n" + one("b"),
		"markers glued to one another":        "apiVersion: v1\n" + one("a") + "------\napiVersion: v1\n" + one("b"),
		"a document glued to its marker":      "---apiVersion: v1\n" + one("a") + "---apiVersion: v1\n" + one("b"),
		"a comment glued to its marker":       "---# first\napiVersion: v1\n" + one("a") + "--- # second\napiVersion: v1\n" + one("b"),
		"returns at the ends of lines":        strings.ReplaceAll("---\napiVersion: v1\n"+one("a")+"---\napiVersion: v1\n"+one("b"), "\n", "\r\n"),
		"nothing between markers":             "---\n---\n\n---\napiVersion: v1\n" + one("a") + "---\n---\napiVersion: v1\n" + one("b") + "---\n",
	} {
		t.Run(name, func(t *testing.T) {
			result, err := helm.Render(t.Context(), request(t, map[string]string{"templates/a.yaml": text}))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"a", "b"}, names(result)); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
		})
	}
	fails(t, request(t, map[string]string{"templates/a.yaml": "\n\n---\n\n" + settings + "\n---\n\n" + settings + "  a: b: c\n"}), "templates/a.yaml", 16, "rendered text")
}

// TestLinkThatNothingReads holds that links out of the files fail only a chart that reads them.
func TestLinkThatNothingReads(t *testing.T) {
	files := map[string]string{"templates/a.yaml": settings + "  a: {{ .Files.Get \"conf/a.txt\" }}\n", "conf/a.txt": "text",
		"README.md": "-> ../../README.md", "conf/b.txt": "-> /etc/passwd", "ci/values": "-> nowhere"}
	result, err := helm.Render(t.Context(), request(t, files))
	if err != nil {
		t.Fatal(err)
	}
	if got := data(t, result)["a"]; got != "text" || len(result.Warnings) != 0 {
		t.Errorf("a is %v, warnings %v", got, result.Warnings)
	}
}

func TestBadCharts(t *testing.T) {
	tests := map[string]struct {
		files  map[string]string
		change func(*helm.Request)
		file   string
		line   int
		want   string
	}{
		"template does not parse": {
			files: map[string]string{"templates/a.yaml": "a: b\nc: {{ if }}\n"},
			file:  "templates/a.yaml", line: 2, want: "missing value for if",
		},
		"nil pointer": {
			files: map[string]string{"templates/a.yaml": "a: b\n\nc: {{ .Values.a.b.c }}\n"},
			file:  "templates/a.yaml", line: 3, want: "nil pointer",
		},
		"required value": {
			files: map[string]string{"templates/a.yaml": "a: {{ required \"set the color\" .Values.color }}\n"},
			file:  "templates/a.yaml", line: 1, want: "set the color",
		},
		"output is not YAML": {
			files: map[string]string{"templates/a.yaml": settings + "  a: b: c\n"},
			file:  "templates/a.yaml", line: 5, want: "rendered text",
		},
		"one object twice": {
			files: map[string]string{"templates/a.yaml": settings, "templates/b.yaml": settings + "  a: b\n"},
			file:  "templates/b.yaml", want: "ConfigMap front/settings is rendered twice, and differs from that of templates/a.yaml",
		},
		"values file is not there": {
			change: func(r *helm.Request) { r.ValuesFiles = []string{"prod.yaml"} },
			file:   "prod.yaml", want: "does not exist",
		},
		"values file is not YAML": {
			files:  map[string]string{"prod.yaml": "a: b\nc: d: e\n"},
			change: func(r *helm.Request) { r.ValuesFiles = []string{"prod.yaml"} },
			file:   "prod.yaml", line: 2, want: "mapping values",
		},
		"values break the schema": {
			files: map[string]string{"values.schema.json": `{"properties":{"count":{"type":"integer"}}}`, "values.yaml": "count: text\n"},
			file:  "values.yaml", want: "got string, want integer",
		},
		"wants another Kubernetes": {
			files: map[string]string{"Chart.yaml": chartYAML + "kubeVersion: '>=1.40.0'\n"},
			file:  "Chart.yaml", want: "requires Kubernetes >=1.40.0, the cluster has v1.36.3",
		},
		"link that a template reads": {
			files: map[string]string{"templates/a.yaml": settings + "  a: {{ .Files.Get \"conf/a.txt\" | quote }}\n", "conf/a.txt": "-> /etc/passwd"},
			file:  "conf/a.txt", want: "a template of the chart may read it by .Files",
		},
		"link that a template may read": {
			files: map[string]string{"templates/a.yaml": settings + "  a: {{ range $f, $_ := .Files.Glob \"conf/**\" }}{{ $f }}{{ end }}\n", "conf/a.txt": "-> nowhere"},
			file:  "conf/a.txt", want: "which does not exist; a template of the chart may read it by .Files",
		},
		"link that a template of a subchart reads": {
			files: map[string]string{"charts/c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n", "charts/c/templates/_x.tpl": "{{ define \"x\" }}{{ $f := .Files }}{{ end }}", "a.txt": "-> nowhere"},
			file:  "a.txt", want: "may read it by .Files",
		},
		"library": {
			files: map[string]string{"Chart.yaml": chartYAML + "type: library\n"},
			file:  "Chart.yaml", want: "library chart",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := request(t, test.files)
			if test.change != nil {
				test.change(&r)
			}
			fails(t, r, test.file, test.line, test.want)
		})
	}
}

func fails(t *testing.T, r helm.Request, file string, line int, want string) {
	t.Helper()
	_, err := helm.Render(t.Context(), r)
	var bad *manifest.Error
	if !errors.As(err, &bad) || bad.File != file || bad.Line != line || !strings.Contains(bad.Message, want) {
		t.Errorf("got %v, want %s:%d: ...%s...", err, file, line, want)
	}
}

func names(r *helm.Result) []string {
	var out []string
	for i := range r.Objects {
		out = append(out, r.Objects[i].Key("").Name)
	}
	return out
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }
