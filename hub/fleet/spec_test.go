package fleet_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/internal/errcode"
)

func good() fleet.Spec {
	return fleet.Spec{Repository: "main", Git: &fleet.Git{Ref: "main", Folder: "web"}}
}

func TestValidateNamesTheField(t *testing.T) {
	tests := map[string]struct {
		change func(*fleet.Spec)
		field  string // empty is valid
	}{
		"plain":              {func(*fleet.Spec) {}, ""},
		"nothing to take":    {func(s *fleet.Spec) { *s = fleet.Spec{} }, "git"},
		"repository alone":   {func(s *fleet.Spec) { s.Git = nil }, "git"},
		"no repository":      {func(s *fleet.Spec) { s.Repository = "" }, "repository"},
		"url":                {func(s *fleet.Spec) { s.Repository, s.Git.URL = "", "https://example.com/a" }, ""},
		"url and repository": {func(s *fleet.Spec) { s.Git.URL = "https://example.com/a" }, "git.url"},
		"folder outside":     {func(s *fleet.Spec) { s.Git.Folder = "a/../../b" }, "git.folder"},
		"folder up and down": {func(s *fleet.Spec) { s.Git.Folder = "a/../b" }, ""},
		"file outside":       {func(s *fleet.Spec) { s.Git.Files = []string{"a", "../b"} }, "git.files[1]"},
		"chart from git": {func(s *fleet.Spec) {
			*s = fleet.Spec{Helm: &fleet.Helm{Repository: "main", Git: &fleet.Git{Ref: "main"}}}
		}, ""},
		"chart repository":   {func(s *fleet.Spec) { *s = fleet.Spec{Helm: &fleet.Helm{URL: "https://example.com", Chart: "web"}} }, ""},
		"chart from nowhere": {func(s *fleet.Spec) { *s = fleet.Spec{Helm: &fleet.Helm{Chart: "web"}} }, "git"},
		"chart twice": {func(s *fleet.Spec) {
			*s = fleet.Spec{Helm: &fleet.Helm{URL: "https://example.com", Repository: "charts", Chart: "web"}}
		}, "helm.url"},
		"source without anything": {func(s *fleet.Spec) { s.Sources = []fleet.Source{{Path: "a"}} }, "sources[0].git"},
		"source with a chart":     {func(s *fleet.Spec) { s.Sources = []fleet.Source{{Path: "a", Repository: "charts", Chart: "web"}} }, ""},
		"source with both": {func(s *fleet.Spec) {
			s.Sources = []fleet.Source{{Chart: "web", Repository: "charts", Git: &fleet.Git{}}}
		}, "sources[0].git"},
		"source of a chart of nowhere": {func(s *fleet.Spec) { s.Sources = []fleet.Source{{Chart: "web"}} }, "sources[0].repository"},
		"source outside": {func(s *fleet.Spec) {
			s.Sources = []fleet.Source{{Path: "../a", Repository: "main", Git: &fleet.Git{Ref: "main"}}}
		}, "sources[0].path"},
		"source in the hub's place": {func(s *fleet.Spec) {
			s.Sources = []fleet.Source{{Path: ".helm-chart/x", Repository: "main", Git: &fleet.Git{Ref: "main"}}}
		}, "sources[0].path"},
		"too many sources":    {func(s *fleet.Spec) { s.Sources = make([]fleet.Source, 33) }, "sources"},
		"url without chart":   {func(s *fleet.Spec) { *s = fleet.Spec{Helm: &fleet.Helm{URL: "https://example.com"}} }, "helm.chart"},
		"release":             {func(s *fleet.Spec) { s.Helm = &fleet.Helm{Release: "Web"} }, "helm.release"},
		"values file outside": {func(s *fleet.Spec) { s.Helm = &fleet.Helm{ValuesFiles: []string{"/etc/passwd"}} }, "helm.valuesFiles[0]"},
		"renderer type":       {func(s *fleet.Spec) { s.Renderers = []fleet.Renderer{{Type: "RAW"}, {Type: "TIMONI"}} }, "renderers[1].type"},
		"jsonnet of raw":      {func(s *fleet.Spec) { s.Renderers = []fleet.Renderer{{Type: "RAW", Jsonnet: &fleet.Jsonnet{}}} }, "renderers[0].jsonnet"},
		"cue of jsonnet":      {func(s *fleet.Spec) { s.Renderers = []fleet.Renderer{{Type: "JSONNET", Cue: &fleet.Cue{}}} }, "renderers[0].cue"},
		"exec of cue":         {func(s *fleet.Spec) { s.Renderers = []fleet.Renderer{{Type: "CUE", Exec: &fleet.Exec{}}} }, "renderers[0].exec"},
		"exec without":        {func(s *fleet.Spec) { s.Renderers = []fleet.Renderer{{Type: "EXEC"}} }, "renderers[0].exec.tool"},
		"exec with a path":    {func(s *fleet.Spec) { s.Renderers = []fleet.Renderer{{Type: "EXEC", Exec: &fleet.Exec{Tool: "../sh"}}} }, "renderers[0].exec.tool"},
		"exec with words": {func(s *fleet.Spec) {
			s.Renderers = []fleet.Renderer{{Type: "EXEC", Exec: &fleet.Exec{Tool: "sh -c id"}}}
		}, "renderers[0].exec.tool"},
		"wasm without": {func(s *fleet.Spec) { s.Renderers = []fleet.Renderer{{Type: "WASM"}} }, "renderers[0].wasm"},
		"wasm of both": {func(s *fleet.Spec) {
			s.Renderers = []fleet.Renderer{{Type: "WASM", Wasm: &fleet.Wasm{Module: "a", Tool: "b"}}}
		}, "renderers[0].wasm"},
		"wasm outside":        {func(s *fleet.Spec) { s.Renderers = []fleet.Renderer{{Type: "WASM", Wasm: &fleet.Wasm{Module: "../a"}}} }, "renderers[0].wasm.module"},
		"jsonnet outside":     {func(s *fleet.Spec) { s.Renderers = []fleet.Renderer{{Jsonnet: &fleet.Jsonnet{File: "../a"}}} }, "renderers[0].jsonnet.file"},
		"jsonnet lib outside": {func(s *fleet.Spec) { s.Renderers = []fleet.Renderer{{Jsonnet: &fleet.Jsonnet{Libs: []string{"/a"}}}} }, "renderers[0].jsonnet.libs[0]"},
		"jsonnet no name": {func(s *fleet.Spec) {
			s.Renderers = []fleet.Renderer{{Jsonnet: &fleet.Jsonnet{TLAs: []fleet.JsonnetVariable{{Value: "a"}}}}}
		}, "renderers[0].jsonnet.tlas[0].name"},
		"postrender outside": {func(s *fleet.Spec) { s.Renderers = []fleet.Renderer{{KustomizePostrender: "../a"}} }, "renderers[0].kustomizePostrender"},
		"helm post outside":  {func(s *fleet.Spec) { s.Helm = &fleet.Helm{KustomizePostrender: "../a"} }, "helm.kustomizePostrender"},
		"renderer helm":      {func(s *fleet.Spec) { s.Renderers = []fleet.Renderer{{Type: "RAW", Helm: &fleet.Helm{}}} }, "renderers[0].helm"},
		"namespace":          {func(s *fleet.Spec) { s.Namespace = "a.b" }, "namespace"},
		"long namespace":     {func(s *fleet.Spec) { s.Namespace = strings.Repeat("a", 64) }, "namespace"},
		"itself":             {func(s *fleet.Spec) { s.Dependencies = []fleet.Dependency{{Name: "web"}} }, "dependencies[0].name"},
		"itself elsewhere":   {func(s *fleet.Spec) { s.Dependencies = []fleet.Dependency{{Name: "web", Cluster: "edge-2"}} }, ""},
		"drift":              {func(s *fleet.Spec) { s.Drift = "loose" }, "drift"},
		"value in two places": {func(s *fleet.Spec) {
			s.Configuration, s.Secrets = map[string]string{"a": "1"}, map[string]string{"a": "2"}
		}, "secrets.a"},
		"normalizer": {func(s *fleet.Spec) {
			s.SyncConfig = &fleet.SyncConfig{DiffNormalizers: []fleet.DiffNormalizer{{Kind: "Deployment"}}}
		}, "syncConfig.diffNormalizers[0].jsonPointers"},
		"huge": {func(s *fleet.Spec) { s.Configuration = map[string]string{"a": strings.Repeat("x", 600<<10)} }, "spec"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := good()
			tc.change(&s)
			err := fleet.Validate("web", s)
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
	if err := fleet.Validate("Web", good()); !errcode.Is(err, errcode.Invalid) {
		t.Errorf("name: err = %v", err)
	}
}

func TestNotActingNamesWhatDoesNothing(t *testing.T) {
	s := good()
	if got := fleet.NotActing(s); got != nil {
		t.Errorf("a plain spec: %v", got)
	}
	s.Helm = &fleet.Helm{Values: "a: 1", LuaScript: "x", KustomizePostrender: "p", Chart: "web", Version: "1.x"}
	s.Contexts = []string{"shared"}
	s.Dependencies = []fleet.Dependency{{Name: "db"}, {Name: "db", Cluster: "edge-2"}}
	s.Renderers = []fleet.Renderer{{Type: "HELM", Helm: &fleet.Helm{URL: "https://example.com", Chart: "a"}}}
	s.Kustomize = &fleet.Kustomize{Path: "base", EnableHelm: true, Envsubst: true}
	s.SyncConfig = &fleet.SyncConfig{Labels: map[string]string{"a": "b"}, DiffNormalizers: []fleet.DiffNormalizer{{JSONPointers: []string{"/spec"}}}}
	s.Sources, s.Imports, s.DocsPath = []fleet.Source{{Path: "more"}}, []fleet.Import{{Stack: "net"}}, "docs"
	want := []string{
		"helm.chart", "helm.version", "renderers[0].helm.url", "renderers[0].helm.chart",
		"dependencies[1].cluster", "docsPath",
	}
	if diff := cmp.Diff(want, fleet.NotActing(s)); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
	for name, acting := range map[string]fleet.Helm{
		"from git":          {Git: &fleet.Git{Ref: "main"}, Repository: "charts"},
		"from a repository": {Chart: "web", Version: "1.x", Repository: "charts"},
		"by url":            {Chart: "web", Version: "1.x", URL: "https://example.com"},
	} {
		with := good()
		with.Helm = &acting
		if got := fleet.NotActing(with); got != nil {
			t.Errorf("a chart %s acts beside files, got %v", name, got)
		}
	}
	both := fleet.Spec{Helm: &fleet.Helm{Git: &fleet.Git{Ref: "main"}, Repository: "charts", Chart: "web"}}
	if diff := cmp.Diff([]string{"helm.git"}, fleet.NotActing(both)); diff != "" {
		t.Errorf("two places for a chart (-want +got):\n%s", diff)
	}
}
