package kustomize_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/internal/liquid"
	"github.com/axle-cd/axle/internal/manifest"
	"github.com/axle-cd/axle/render/kustomize"
)

func engine() *liquid.Engine {
	bindings := map[string]any{"configuration": map[string]any{"color": "green", "team": "web"}}
	return liquid.New(bindings, time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC))
}

// templated is a kustomization whose every kind of file is a template.
var templated = map[string]string{
	"app/kustomization.yaml.liquid": "namePrefix: {{ configuration.team }}-\nresources: [settings.yaml, ../base, named.yaml.liquid]\npatches: [{path: patch.yaml}]\nconfigMapGenerator: [{name: made, files: [made.txt]}]\ngeneratorOptions: {disableNameSuffixHash: true}\n",
	"app/settings.yaml.liquid":      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {color: '{{ configuration.color }}'}\n",
	"app/settings.yaml":             "not: the one\n",
	"app/named.yaml.liquid":         "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: named}\n",
	"app/patch.yaml.liquid":         "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {team: '{{ configuration.team }}'}\n",
	"app/made.txt.liquid":           "{{ configuration.color }}",
	"app/unused.yaml.liquid":        "{{ configuration | nothing }}",
	"base/kustomization.yaml":       "resources: [base.yaml]\n",
	"base/base.yaml.liquid":         "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: base}\ndata: {color: '{{ configuration.color }}'}\n",
	"elsewhere/broken.yaml.liquid":  "{% if %}",
	"elsewhere/kustomization.yaml":  "resources: [broken.yaml]\n",
	"generates/kustomization.yaml":  "resources: [secret.yaml]\n",
	"generates/secret.yaml.liquid":  "apiVersion: v1\nkind: Secret\nmetadata: {name: secret}\nstringData: {fixed: a, made: '{{ 16 | randAlphaNum }}'}\n",
	"both/kustomization.yaml":       "resources: []\n",
	"both/kustomization.yml.liquid": "resources: []\n",
}

// TestTemplatesAreRenderedBeforeTheBuild: every file that a build reads may be a
// template, and templates that it does not read are not rendered.
func TestTemplatesAreRenderedBeforeTheBuild(t *testing.T) {
	files := seal(t, templated)
	objects, _, err := kustomize.Render(kustomize.Request{Tree: files, Dir: "app", Liquid: engine()})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	for _, o := range objects {
		got[o.Key("").Name] = o.Data["data"]
	}
	want := map[string]any{
		"web-settings": map[string]any{"color": "green", "team": "web"}, "web-base": map[string]any{"color": "green"},
		"web-named": nil, "web-made": map[string]any{"made.txt": "green"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if !kustomize.HasKustomization(files, "app", true) || kustomize.HasKustomization(files, "app", false) {
		t.Error("a template of a kustomization counts when the service is templated, and only then")
	}
}

func TestTemplatesThatGenerateAreMarked(t *testing.T) {
	objects, _, err := kustomize.Render(kustomize.Request{Tree: seal(t, templated), Dir: "generates", Liquid: engine()})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(objects[0].Volatile, []string{"/stringData/made"}) {
		t.Errorf("generated are %q", objects[0].Volatile)
	}
}

func TestTemplatesThatFail(t *testing.T) {
	for dir, want := range map[string]manifest.Error{
		"elsewhere": {File: "elsewhere/broken.yaml.liquid", Line: 1, Message: "invalid template"},
		"both":      {File: "both", Message: "more than one kustomization file"},
	} {
		_, _, err := kustomize.Render(kustomize.Request{Tree: seal(t, templated), Dir: dir, Liquid: engine()})
		var bad *manifest.Error
		if !errors.As(err, &bad) || bad.File != want.File || bad.Line != want.Line || !strings.Contains(bad.Message, want.Message) {
			t.Errorf("%s: got %+v", dir, err)
		}
	}
	_, _, err := kustomize.Render(kustomize.Request{Tree: seal(t, templated), Dir: "base"})
	if err == nil || !strings.Contains(err.Error(), `"base.yaml", which does not exist`) {
		t.Errorf("not templated: %v", err)
	}
}
