package specrules_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	specv1 "github.com/axle-cd/axle/api/spec/v1"
	"github.com/axle-cd/axle/hub/fleet/specrules"
	"github.com/axle-cd/axle/internal/errcode"
)

func good() specv1.Spec {
	return specv1.Spec{Repository: "main", Git: &specv1.Git{Ref: "main", Folder: "web"}}
}

func TestValidateNamesTheField(t *testing.T) {
	tests := map[string]struct {
		change func(*specv1.Spec)
		field  string // empty is valid
	}{
		"plain":              {func(*specv1.Spec) {}, ""},
		"nothing to take":    {func(s *specv1.Spec) { *s = specv1.Spec{} }, "git"},
		"repository alone":   {func(s *specv1.Spec) { s.Git = nil }, "git"},
		"no repository":      {func(s *specv1.Spec) { s.Repository = "" }, "repository"},
		"url":                {func(s *specv1.Spec) { s.Repository, s.Git.URL = "", "https://example.com/a" }, ""},
		"url and repository": {func(s *specv1.Spec) { s.Git.URL = "https://example.com/a" }, "git.url"},
		"folder outside":     {func(s *specv1.Spec) { s.Git.Folder = "a/../../b" }, "git.folder"},
		"folder up and down": {func(s *specv1.Spec) { s.Git.Folder = "a/../b" }, ""},
		"file outside":       {func(s *specv1.Spec) { s.Git.Files = []string{"a", "../b"} }, "git.files[1]"},
		"chart from git": {func(s *specv1.Spec) {
			*s = specv1.Spec{Helm: &specv1.Helm{Repository: "main", Git: &specv1.Git{Ref: "main"}}}
		}, ""},
		"chart repository":   {func(s *specv1.Spec) { *s = specv1.Spec{Helm: &specv1.Helm{URL: "https://example.com", Chart: "web"}} }, ""},
		"chart from nowhere": {func(s *specv1.Spec) { *s = specv1.Spec{Helm: &specv1.Helm{Chart: "web"}} }, "git"},
		"chart twice": {func(s *specv1.Spec) {
			*s = specv1.Spec{Helm: &specv1.Helm{URL: "https://example.com", Repository: "charts", Chart: "web"}}
		}, "helm.url"},
		"source without anything": {func(s *specv1.Spec) { s.Sources = []specv1.Source{{Path: "a"}} }, "sources[0].git"},
		"source with a chart":     {func(s *specv1.Spec) { s.Sources = []specv1.Source{{Path: "a", Repository: "charts", Chart: "web"}} }, ""},
		"source with both": {func(s *specv1.Spec) {
			s.Sources = []specv1.Source{{Chart: "web", Repository: "charts", Git: &specv1.Git{}}}
		}, "sources[0].git"},
		"source of a chart of nowhere": {func(s *specv1.Spec) { s.Sources = []specv1.Source{{Chart: "web"}} }, "sources[0].repository"},
		"source outside": {func(s *specv1.Spec) {
			s.Sources = []specv1.Source{{Path: "../a", Repository: "main", Git: &specv1.Git{Ref: "main"}}}
		}, "sources[0].path"},
		"source in the hub's place": {func(s *specv1.Spec) {
			s.Sources = []specv1.Source{{Path: ".helm-chart/x", Repository: "main", Git: &specv1.Git{Ref: "main"}}}
		}, "sources[0].path"},
		"too many sources":    {func(s *specv1.Spec) { s.Sources = make([]specv1.Source, 33) }, "sources"},
		"url without chart":   {func(s *specv1.Spec) { *s = specv1.Spec{Helm: &specv1.Helm{URL: "https://example.com"}} }, "helm.chart"},
		"release":             {func(s *specv1.Spec) { s.Helm = &specv1.Helm{Release: "Web"} }, "helm.release"},
		"values file outside": {func(s *specv1.Spec) { s.Helm = &specv1.Helm{ValuesFiles: []string{"/etc/passwd"}} }, "helm.valuesFiles[0]"},
		"renderer type":       {func(s *specv1.Spec) { s.Renderers = []specv1.Renderer{{Type: "RAW"}, {Type: "TIMONI"}} }, "renderers[1].type"},
		"jsonnet of raw":      {func(s *specv1.Spec) { s.Renderers = []specv1.Renderer{{Type: "RAW", Jsonnet: &specv1.Jsonnet{}}} }, "renderers[0].jsonnet"},
		"cue of jsonnet":      {func(s *specv1.Spec) { s.Renderers = []specv1.Renderer{{Type: "JSONNET", Cue: &specv1.Cue{}}} }, "renderers[0].cue"},
		"exec of cue":         {func(s *specv1.Spec) { s.Renderers = []specv1.Renderer{{Type: "CUE", Exec: &specv1.Exec{}}} }, "renderers[0].exec"},
		"exec without":        {func(s *specv1.Spec) { s.Renderers = []specv1.Renderer{{Type: "EXEC"}} }, "renderers[0].exec.tool"},
		"exec with a path": {func(s *specv1.Spec) {
			s.Renderers = []specv1.Renderer{{Type: "EXEC", Exec: &specv1.Exec{Tool: "../sh"}}}
		}, "renderers[0].exec.tool"},
		"exec with words": {func(s *specv1.Spec) {
			s.Renderers = []specv1.Renderer{{Type: "EXEC", Exec: &specv1.Exec{Tool: "sh -c id"}}}
		}, "renderers[0].exec.tool"},
		"wasm without": {func(s *specv1.Spec) { s.Renderers = []specv1.Renderer{{Type: "WASM"}} }, "renderers[0].wasm"},
		"wasm of both": {func(s *specv1.Spec) {
			s.Renderers = []specv1.Renderer{{Type: "WASM", Wasm: &specv1.Wasm{Module: "a", Tool: "b"}}}
		}, "renderers[0].wasm"},
		"wasm outside": {func(s *specv1.Spec) {
			s.Renderers = []specv1.Renderer{{Type: "WASM", Wasm: &specv1.Wasm{Module: "../a"}}}
		}, "renderers[0].wasm.module"},
		"jsonnet outside": {func(s *specv1.Spec) { s.Renderers = []specv1.Renderer{{Jsonnet: &specv1.Jsonnet{File: "../a"}}} }, "renderers[0].jsonnet.file"},
		"jsonnet lib outside": {func(s *specv1.Spec) {
			s.Renderers = []specv1.Renderer{{Jsonnet: &specv1.Jsonnet{Libs: []string{"/a"}}}}
		}, "renderers[0].jsonnet.libs[0]"},
		"jsonnet no name": {func(s *specv1.Spec) {
			s.Renderers = []specv1.Renderer{{Jsonnet: &specv1.Jsonnet{TLAs: []specv1.JsonnetVariable{{Value: "a"}}}}}
		}, "renderers[0].jsonnet.tlas[0].name"},
		"postrender outside": {func(s *specv1.Spec) { s.Renderers = []specv1.Renderer{{KustomizePostrender: "../a"}} }, "renderers[0].kustomizePostrender"},
		"helm post outside":  {func(s *specv1.Spec) { s.Helm = &specv1.Helm{KustomizePostrender: "../a"} }, "helm.kustomizePostrender"},
		"renderer helm":      {func(s *specv1.Spec) { s.Renderers = []specv1.Renderer{{Type: "RAW", Helm: &specv1.Helm{}}} }, "renderers[0].helm"},
		"namespace":          {func(s *specv1.Spec) { s.Namespace = "a.b" }, "namespace"},
		"long namespace":     {func(s *specv1.Spec) { s.Namespace = strings.Repeat("a", 64) }, "namespace"},
		"itself":             {func(s *specv1.Spec) { s.Dependencies = []specv1.Dependency{{Name: "web"}} }, "dependencies[0].name"},
		"itself elsewhere":   {func(s *specv1.Spec) { s.Dependencies = []specv1.Dependency{{Name: "web", Cluster: "edge-2"}} }, ""},
		"drift":              {func(s *specv1.Spec) { s.Drift = "loose" }, "drift"},
		"value in two places": {func(s *specv1.Spec) {
			s.Configuration, s.Secrets = map[string]string{"a": "1"}, map[string]string{"a": "2"}
		}, "secrets.a"},
		"normalizer": {func(s *specv1.Spec) {
			s.SyncConfig = &specv1.SyncConfig{DiffNormalizers: []specv1.DiffNormalizer{{Kind: "Deployment"}}}
		}, "syncConfig.diffNormalizers[0].jsonPointers"},
		"huge": {func(s *specv1.Spec) { s.Configuration = map[string]string{"a": strings.Repeat("x", 600<<10)} }, "spec"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := good()
			tc.change(&s)
			err := specrules.Validate("web", s)
			if tc.field == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errcode.Is(err, errcode.Invalid) || !strings.HasPrefix(err.Error(), tc.field+":") {
				t.Errorf("err = %v, want one about %s", err, tc.field)
			}
		})
	}
	if err := specrules.Validate("Web", good()); !errcode.Is(err, errcode.Invalid) {
		t.Errorf("name: err = %v", err)
	}
}

func TestNotActingNamesWhatDoesNothing(t *testing.T) {
	s := good()
	if got := specrules.NotActing(s); got != nil {
		t.Errorf("a plain spec: %v", got)
	}
	s.Helm = &specv1.Helm{Values: "a: 1", LuaScript: "x", KustomizePostrender: "p", Chart: "web", Version: "1.x"}
	s.Contexts = []string{"shared"}
	s.Dependencies = []specv1.Dependency{{Name: "db"}, {Name: "db", Cluster: "edge-2"}}
	s.Renderers = []specv1.Renderer{{Type: "HELM", Helm: &specv1.Helm{URL: "https://example.com", Chart: "a"}}}
	s.Kustomize = &specv1.Kustomize{Path: "base", EnableHelm: true, Envsubst: true}
	s.SyncConfig = &specv1.SyncConfig{Labels: map[string]string{"a": "b"}, DiffNormalizers: []specv1.DiffNormalizer{{JSONPointers: []string{"/spec"}}}}
	s.Sources, s.Imports, s.DocsPath = []specv1.Source{{Path: "more"}}, []specv1.Import{{Stack: "net"}}, "docs"
	want := []string{
		"helm.chart", "helm.version", "renderers[0].helm.url", "renderers[0].helm.chart",
		"docsPath",
	}
	if diff := cmp.Diff(want, specrules.NotActing(s)); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
	for name, acting := range map[string]specv1.Helm{
		"from git":          {Git: &specv1.Git{Ref: "main"}, Repository: "charts"},
		"from a repository": {Chart: "web", Version: "1.x", Repository: "charts"},
		"by url":            {Chart: "web", Version: "1.x", URL: "https://example.com"},
	} {
		with := good()
		with.Helm = &acting
		if got := specrules.NotActing(with); got != nil {
			t.Errorf("a chart %s acts beside files, got %v", name, got)
		}
	}
	both := specv1.Spec{Helm: &specv1.Helm{Git: &specv1.Git{Ref: "main"}, Repository: "charts", Chart: "web"}}
	if diff := cmp.Diff([]string{"helm.git"}, specrules.NotActing(both)); diff != "" {
		t.Errorf("two places for a chart (-want +got):\n%s", diff)
	}
}
