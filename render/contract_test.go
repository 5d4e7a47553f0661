package render_test

import (
	"testing"

	"github.com/axle-cd/axle/render/rendertest"
)

func TestMain(m *testing.M) {
	if probing() || building() {
		return
	}
	m.Run()
}

const configMap = `apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
data:
  level: info
`

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
        - name: web
          image: registry.k8s.io/pause:3.10
`

// invalid is broken in its fourth line.
const invalid = `apiVersion: v1
kind: ConfigMap
metadata:
  name: settings: twice
data: {}
`

func TestContract(t *testing.T) {
	for name, fixture := range fixtures() {
		t.Run(name, func(t *testing.T) { rendertest.Contract(t, fixture) })
	}
}

func fixtures() map[string]rendertest.Fixture {
	raw := rendertest.Files{
		"a.yaml":             configMap,
		"deep/b.yml":         deployment,
		"templated.liquid":   "not a manifest by its name",
		"c.yaml.liquid":      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: templated}\ndata: {color: {{ configuration.color }}}\n",
		"README.md":          "# not a manifest",
		".github/ci.yaml":    "on: push",
		"deep/also/two.json": `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one"}},{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"two"}}]}`,
	}.In("app")
	kustomization := rendertest.Files{
		"kustomization.yaml": "resources:\n- a.yaml\n- ../base\nconfigMapGenerator:\n- name: made\n  literals: [color=green]\npatches:\n- path: patch.yaml\n",
		// Merged by the containers' names, which only the schema knows.
		"patch.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {containers: [{name: web, env: [{name: A, value: b}]}]}}}\n",
		"a.yaml":     configMap,
	}.In("app")
	kustomization["base/kustomization.yaml"] = "resources: [b.yaml]\n"
	kustomization["base/b.yaml"] = deployment
	chart := rendertest.Files{
		"Chart.yaml":            "apiVersion: v2\nname: web\nversion: 1.0.0\n",
		"values.yaml":           "color: blue\nsubby: {on: true}\n",
		"crds/kind.yaml":        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\n",
		"templates/a.yaml":      configMap,
		"templates/b.yaml":      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {color: {{ .Values.color }}, at: {{ now | date \"2006\" | quote }}}\n",
		"templates/_x.tpl":      `{{ define "x" }}x{{ end }}`,
		"templates/NOTES.txt":   "hello",
		"charts/zz/Chart.yaml":  "apiVersion: v2\nname: zz\nversion: 1.0.0\n",
		"charts/aa/Chart.yaml":  "apiVersion: v2\nname: aa\nversion: 1.0.0\n",
		"charts/aa/crds/k.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: aas.example.com}\n",
		"charts/zz/crds/k.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: zzs.example.com}\n",
	}.In("app")
	return map[string]rendertest.Fixture{
		"raw": {
			Type: "RAW", Good: raw,
			Objects:  []string{"ConfigMap settings", "ConfigMap templated", "ConfigMap one", "ConfigMap two", "Deployment web"},
			Other:    rendertest.Files{"x.yaml.liquid": "{% assign color = 'red' %}apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: {{ configuration.only }}, b: {{ color }}}\n"}.In("app"),
			Invalid:  raw.With("app/a.yaml", invalid),
			File:     "app/a.yaml",
			Line:     4,
			Manifest: "app/a.yaml",
		},
		"kustomize": {
			Type: "KUSTOMIZE", Good: kustomization,
			Objects: []string{"ConfigMap made-g5mh25c546", "ConfigMap settings", "Deployment web"},
			// A kustomization's own schema changes how lists are merged, in package
			// variables of the library.
			Other: rendertest.Files{
				"kustomization.yaml": "resources: [a.yaml]\nopenapi: {path: schema.json}\nnamePrefix: other-\n",
				"a.yaml":             deployment,
				"schema.json":        `{"definitions":{"io.k8s.api.apps.v1.Deployment":{"type":"object","x-kubernetes-group-version-kind":[{"group":"apps","kind":"Deployment","version":"v1"}],"properties":{}}}}`,
			}.In("app"),
			Invalid:  kustomization.With("app/kustomization.yaml", "resources:\n- a.yaml\nnamePrefix: \"x\n"),
			File:     "app/kustomization.yaml",
			Line:     3,
			Manifest: "app/a.yaml",
		},
		"helm": {
			Type: "HELM", Good: chart,
			Objects: []string{
				"CustomResourceDefinition things.example.com", "CustomResourceDefinition aas.example.com",
				"CustomResourceDefinition zzs.example.com", "ConfigMap settings", "ConfigMap web",
			},
			Other: chart.With("app/templates/b.yaml",
				"{{ define \"x\" }}y{{ end }}apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {has: \"{{ .Capabilities.APIVersions.Has \"batch/v1\" }}\"}\n"),
			Invalid:  chart.With("app/templates/b.yaml", "apiVersion: v1\nkind: ConfigMap\ndata:\n  x: {{ fail \"no\" }}\n"),
			File:     "app/templates/b.yaml",
			Line:     4,
			Manifest: "app/templates/a.yaml",
		},
	}
}
