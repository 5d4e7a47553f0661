package fleet

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/api/spec/convert/converttest"
)

func inputs() specInputs {
	return specInputs{
		service: Service{ID: "svc_1", Name: "web", Namespace: "shop", Project: "default", Desired: Content{
			Digest: "axle1:a", SourceRevision: "c1", Message: "m", Author: "a", CommittedAt: 1, Entry: "apps/web",
		}},
		spec: Spec{
			Repository: "main", Git: &Git{Ref: "main"}, Configuration: map[string]string{"a": "1", "b/c": "2"},
			Helm: &Helm{Values: "x: 1"}, Renderers: []Renderer{{Type: "HELM", Helm: &Helm{Release: "r"}}},
		},
		secrets: map[string]string{"password": "p"},
		cluster: ClusterData{ID: "cl_1", Handle: "edge", Name: "edge-1", Tags: map[string]string{"tier": "dev"}, Metadata: "{}", KubernetesMinor: "1.34"},
	}
}

func digestOf(t *testing.T, key string, change func(*specInputs)) string {
	t.Helper()
	in := inputs()
	change(&in)
	d, err := specDigest([]byte(key), in)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The vector of docs/spec/spec-digest.md: with other digests, every agent would
// fetch every spec again.
func TestSpecDigestVector(t *testing.T) {
	const want = "s1:f2c8c898c23402f249253b1848be86265b8ff4604b3f32f9682b2552eeab4a54"
	if got := digestOf(t, strings.Repeat("k", 32), func(*specInputs) {}); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The digests of stored specs stay. The vector was taken before specs had a definition
// of their own.
func TestSpecDigestOfEveryField(t *testing.T) {
	text, err := os.ReadFile("../../api/spec/v1/testdata/full.json")
	if err != nil {
		t.Fatal(err)
	}
	const want = "s1:be83425e7f5c00165fd5bb48035a799af9cfb610b8cc65e36b6c93c63973752c"
	got := digestOf(t, strings.Repeat("k", 32), func(in *specInputs) {
		in.spec = Spec{}
		if err := json.Unmarshal(text, &in.spec); err != nil {
			t.Fatal(err)
		}
	})
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestSpecDigestCoversWhatActs(t *testing.T) {
	yes := true
	tests := map[string]struct {
		change  func(*specInputs)
		changes bool
	}{
		"nothing":       {func(*specInputs) {}, false},
		"revision":      {func(in *specInputs) { in.service.Revision = 9 }, false},
		"commit":        {func(in *specInputs) { in.service.Desired.SourceRevision = "c2" }, false},
		"message":       {func(in *specInputs) { in.service.Desired.Message = "n" }, false},
		"author":        {func(in *specInputs) { in.service.Desired.Author = "b" }, false},
		"committed at":  {func(in *specInputs) { in.service.Desired.CommittedAt = 2 }, false},
		"times":         {func(in *specInputs) { in.service.UpdatedAt, in.service.RevisedAt = 5, 6 }, false},
		"tarball":       {func(in *specInputs) { in.service.Desired.Digest = "axle1:b" }, false},
		"ref":           {func(in *specInputs) { in.spec.Git = &Git{Ref: "v1"} }, false},
		"docs":          {func(in *specInputs) { in.spec.DocsPath = "docs" }, false},
		"version label": {func(in *specInputs) { in.spec.Version = "1.2.3" }, false},
		"lua":           {func(in *specInputs) { in.spec.Helm = &Helm{Values: "x: 1", LuaScript: "y"} }, true},
		"entry":         {func(in *specInputs) { in.service.Desired.Entry = "" }, true},
		"namespace":     {func(in *specInputs) { in.service.Namespace = "other" }, true},
		"project":       {func(in *specInputs) { in.service.Project = "other" }, true},
		"values":        {func(in *specInputs) { in.spec.Helm = &Helm{Values: "x: 2"} }, true},
		"no helm":       {func(in *specInputs) { in.spec.Helm = nil }, true},
		"empty helm":    {func(in *specInputs) { in.spec.Helm = &Helm{} }, true},
		"renderer":      {func(in *specInputs) { in.spec.Renderers = []Renderer{{Type: "HELM", Helm: &Helm{Release: "s"}}} }, true},
		"postrender":    {func(in *specInputs) { in.spec.Helm = &Helm{Values: "x: 1", KustomizePostrender: "post"} }, true},
		"post of one":   {func(in *specInputs) { in.spec.Renderers[0].KustomizePostrender = "post" }, true},
		"jsonnet": {func(in *specInputs) {
			in.spec.Renderers[0].Jsonnet = &Jsonnet{TLAs: []JsonnetVariable{{Name: "a", Value: "b"}}}
		}, true},
		"cue":            {func(in *specInputs) { in.spec.Renderers[0].Cue = &Cue{Tags: map[string]string{"a": "b"}} }, true},
		"exec":           {func(in *specInputs) { in.spec.Renderers[0].Exec = &Exec{Tool: "kcl"} }, true},
		"wasm":           {func(in *specInputs) { in.spec.Renderers[0].Wasm = &Wasm{Module: "a.wasm"} }, true},
		"secret":         {func(in *specInputs) { in.secrets = map[string]string{"password": "q"} }, true},
		"moved to plain": {func(in *specInputs) { in.secrets, in.spec.Configuration["password"] = nil, "p" }, true},
		"key with slash": {func(in *specInputs) { in.spec.Configuration = map[string]string{"a": "1", "b": "2"} }, true},
		"own values":     {func(in *specInputs) { in.values.Own = "cfg-1" }, true},
		"a context":      {func(in *specInputs) { in.values.Contexts = map[string]string{"prod": "cfg-1"} }, true},
		"imported":       {func(in *specInputs) { in.values.Imports = map[string]string{"prod": "cfg-1"} }, true},
		"contexts order": {func(in *specInputs) { in.spec.Contexts = []string{"b", "a"} }, true},
		"templated":      {func(in *specInputs) { in.spec.Templated = &yes }, true},
		"adopt":          {func(in *specInputs) { in.spec.Adopt = true }, true},
		"sync request":   {func(in *specInputs) { in.service.SyncRequest = 1 }, true},
		"prune approval": {func(in *specInputs) { in.service.PruneApproval = 1 }, true},
		"tag":            {func(in *specInputs) { in.cluster.Tags = map[string]string{"tier": "prod"} }, true},
		"minor":          {func(in *specInputs) { in.cluster.KubernetesMinor = "1.35" }, true},
		"no limits":      {func(in *specInputs) { in.service.Limits = Limits{Kinds: []string{}} }, false},
		"limits":         {func(in *specInputs) { in.service.Limits = Limits{Kinds: []string{"Secret"}} }, true},
		"hub's windows":  {func(in *specInputs) { in.service.Limits = Limits{HubWindows: []SyncWindow{{Kind: "deny"}}} }, true},
		"metadata":       {func(in *specInputs) { in.cluster.Metadata = `{"a":1}` }, true},
	}
	base := digestOf(t, "key", func(*specInputs) {})
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := digestOf(t, "key", tc.change); (got != base) != tc.changes {
				t.Errorf("changed = %t, want %t", got != base, tc.changes)
			}
		})
	}
	if digestOf(t, "other key", func(*specInputs) {}) == base {
		t.Error("the digest does not depend on the key")
	}
}

// A field is in the digest exactly when it reaches agents, as docs/spec/spec-digest.md
// says.
func TestSpecDigestCoversTheFieldsOfAgents(t *testing.T) {
	lost := converttest.Lost(func(spec *Spec) string {
		return digestOf(t, "key", func(in *specInputs) { in.spec = *spec })
	})
	want := []string{
		"detach", "docsPath", "git", "helm.chart", "helm.git", "helm.repository", "helm.url", "helm.version", "namespace",
		"renderers.helm.chart", "renderers.helm.git", "renderers.helm.repository", "renderers.helm.url", "renderers.helm.version",
		"repository", "secretRefs", "secrets", "sources", "version",
	}
	if diff := cmp.Diff(want, lost); diff != "" {
		t.Errorf("fields that no digest covers (-want +got):\n%s", diff)
	}
}

func TestKubernetesMinor(t *testing.T) {
	for version, want := range map[string]string{"v1.34.2+k3s1": "1.34", "1.31": "1.31", "v1.30+": "1.30", "": "", "x": ""} {
		if got := kubernetesMinor(version); got != want {
			t.Errorf("%q: got %q, want %q", version, got, want)
		}
	}
}
