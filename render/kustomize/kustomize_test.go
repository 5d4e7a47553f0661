package kustomize_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/internal/manifest"
	"github.com/axle-cd/axle/internal/tree"
	"github.com/axle-cd/axle/render/kustomize"
)

const settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"

func seal(t *testing.T, files map[string]string) *tree.Tree {
	t.Helper()
	out := tree.New()
	for name, text := range files {
		if err := out.Add(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Seal(); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestRefused(t *testing.T) {
	tests := map[string]struct {
		kustomization string
		more          map[string]string
		file          string
		line          int
		want          string
	}{
		"https base":                  {kustomization: "resources:\n- a.yaml\n- https://example.com/base?ref=v1\n", line: 3, want: "remote reference"},
		"ssh base":                    {kustomization: "resources:\n- git@example.com:org/repo\n", line: 2, want: "remote reference"},
		"short base":                  {kustomization: "bases:\n- github.com/org/repo//base\n", line: 2, want: "remote reference"},
		"remote file":                 {kustomization: "resources:\n- https://example.com/a.yaml\n", line: 2, want: "remote reference"},
		"remote part":                 {kustomization: "components:\n- ssh://git@example.com/a\n", line: 2, want: "remote reference"},
		"outside":                     {kustomization: "resources:\n\n- ../../../base\n", line: 3, want: "outside the service's files"},
		"absolute":                    {kustomization: "resources: [/etc]\n", line: 1, want: "outside the service's files"},
		"generator of a file outside": {kustomization: "configMapGenerator:\n- name: a\n  files:\n  - a.yaml\n  - key=../../x.txt\n", line: 5, want: "list it in git.files"},
		"generator of /etc":           {kustomization: "secretGenerator:\n- {name: a, envs: [/etc/passwd]}\n", line: 2, want: "outside the service's files"},
		"generator of another server": {kustomization: "configMapGenerator:\n- {name: a, files: [https://example.com/x]}\n", line: 2, want: "remote reference"},
		"patch outside":               {kustomization: "resources: [a.yaml]\npatches:\n- path: ../../p.yaml\n", line: 3, want: "list it in git.files"},
		"old patch outside":           {kustomization: "patchesStrategicMerge:\n- |-\n  a: b\n- ../../p.yaml\n", line: 4, want: "list it in git.files"},
		"missing":                     {kustomization: "resources:\n- nothing.yaml\n", line: 2, want: "does not exist"},
		"no such folder":              {kustomization: "resources:\n- ../base\n", line: 2, want: "does not exist"},
		"bare folder":                 {kustomization: "resources:\n- ../base\n", more: map[string]string{"base/a.txt": ""}, line: 2, want: "no kustomization.yaml"},
		"two of them":                 {kustomization: "resources: []\n", more: map[string]string{"app/kustomization.yml": ""}, file: "app", want: "more than one"},
		"in a base":                   {kustomization: "resources: [../base]\n", more: map[string]string{"base/kustomization.yml": "resources:\n- https://example.com/a\n"}, file: "base/kustomization.yml", line: 2, want: "remote reference"},
		"charts":                      {kustomization: "namePrefix: a-\nhelmCharts:\n- name: x\n", line: 2, want: "set kustomize.enableHelm"},
		"not an object":               {kustomization: "- a\n", line: 1, want: "not an object"},
		"empty":                       {kustomization: "", want: "empty"},
		"unknown field":               {kustomization: "resuorces: []\n", want: "resuorces"},
		"invalid yaml":                {kustomization: "a: b\nc: d: e\n", line: 2, want: "mapping values"},
		"exec generator":              {kustomization: "generators: [g.yaml]\n", more: map[string]string{"app/g.yaml": "apiVersion: x\nkind: Y\nmetadata:\n  name: z\n  annotations: {config.kubernetes.io/function: \"exec: {path: /bin/true}\"}\n"}, file: "*", want: "kustomize:"},
		"invalid in file":             {kustomization: "resources: [a.yaml, b.yaml]\n", more: map[string]string{"app/b.yaml": "a: b\nc: d: e\n"}, file: "*", want: "mapping values"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"app/kustomization.yaml": test.kustomization, "app/a.yaml": settings}
			for name, text := range test.more {
				files[name] = text
			}
			_, _, err := kustomize.Render(kustomize.Request{Tree: seal(t, files), Dir: "app"})
			if test.file == "" {
				test.file = "app/kustomization.yaml"
			}
			var bad *manifest.Error
			if !errors.As(err, &bad) || !strings.Contains(bad.Message, test.want) {
				t.Fatalf("got %v, want ...%s...", err, test.want)
			}
			if strings.Contains(err.Error(), "/files") {
				t.Errorf("the error names a path that nobody has: %v", err)
			}
			if test.file != "*" && (bad.File != test.file || bad.Line != test.line) {
				t.Errorf("got %v, want it at %s:%d", err, test.file, test.line)
			}
		})
	}
}

func TestVariables(t *testing.T) {
	tests := map[string]struct {
		text string
		want string
		fail string
	}{
		"set":            {text: "a-${COLOR}-b", want: "a-green-b"},
		"default":        {text: "${NONE:-red}", want: "red"},
		"empty default":  {text: "${EMPTY:-red}", want: "red"},
		"empty is kept":  {text: "${EMPTY-red}", want: ""},
		"escaped":        {text: "$${COLOR}", want: "${COLOR}"},
		"shell is left":  {text: "$COLOR $(COLOR)", want: "$COLOR $(COLOR)"},
		"missing fails":  {text: "${NONE}", fail: "the variable NONE"},
		"number as text": {text: "${PORT}", want: "8080"},
		"cannot break":   {text: "${EVIL}", want: "a\nkind: Secret"},
		"set over other": {text: "${COLOR:-red}", want: "green"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			objects, _, err := kustomize.Render(kustomize.Request{
				Tree: seal(t, map[string]string{
					"kustomization.yaml": "resources: [a.yaml]\n",
					"a.yaml":             settings + "data:\n  x: '" + test.text + "'\n",
				}),
				Dir: ".", Variables: map[string]string{"COLOR": "green", "EMPTY": "", "PORT": "8080", "EVIL": "a\nkind: Secret"},
			})
			if test.fail != "" {
				if err == nil || !strings.Contains(err.Error(), test.fail) {
					t.Errorf("got %v, want ...%s...", err, test.fail)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(map[string]any{"x": test.want}, objects[0].Data["data"]); diff != "" {
				t.Errorf("data (-want +got):\n%s", diff)
			}
		})
	}
}

func TestVariableAsNumber(t *testing.T) {
	objects, _, err := kustomize.Render(kustomize.Request{
		Tree: seal(t, map[string]string{
			"kustomization.yaml": "resources: [a.yaml]\n",
			"a.yaml":             "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a, labels: {port: '${PORT}'}}\nspec: {replicas: '${PORT}', on: '${ON}', port: 'p${PORT}', zero: '${ZERO}'}\n",
		}),
		Dir: ".", Variables: map[string]string{"PORT": "8080", "ON": "true", "ZERO": "007"},
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := objects[0].JSON()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"labels":{"port":"8080"},"name":"a"},"spec":{"on":true,"port":"p8080","replicas":8080,"zero":"007"}}`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("object (-want +got):\n%s", diff)
	}
}

// Flux's mark leaves an object's text as it is: a script's own variables look the same.
func TestMarkAgainstVariables(t *testing.T) {
	for mark, want := range map[string]string{
		"labels: {kustomize.toolkit.fluxcd.io/substitute: disabled}":      "${COLOR} ${HOME}",
		"annotations: {kustomize.toolkit.fluxcd.io/substitute: Disabled}": "${COLOR} ${HOME}",
		"annotations: {kustomize.toolkit.fluxcd.io/substitute: enabled}":  "green /",
	} {
		objects, _, err := kustomize.Render(kustomize.Request{
			Tree: seal(t, map[string]string{
				"kustomization.yaml": "resources: [a.yaml]\n",
				"a.yaml":             "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, " + mark + "}\ndata: {x: '${COLOR} ${HOME}'}\n",
			}),
			Dir: ".", Variables: map[string]string{"COLOR": "green", "HOME": "/"},
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]any{"x": want}, objects[0].Data["data"]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", mark, diff)
		}
	}
}
