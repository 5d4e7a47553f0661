package manifest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk/manifest"
)

func read(t *testing.T, text string) ([]manifest.Item, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "all.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return manifest.Read([]string{path}, nil)
}

const fleet = `# the whole of a small fleet
---
apiVersion: deployments.plural.sh/v1alpha1
kind: ServiceDeployment
metadata: {name: queue, namespace: platform}
spec:
  namespace: queue
  cluster: edge-17
  repositoryRef: {name: fleet, namespace: ignored}
  git: {ref: main, folder: helm}
  helm: {values: {replicas: 3}, valuesFiles: [queue.yaml.liquid]}
  configuration: {replicas: "3"}
  configurationRef: {name: queue-secrets, namespace: platform}
  secretRefs: {token: {backend: vault, path: apps/queue, key: value}, plain: {path: apps/plain}}
  dependencies: [{name: cert-manager}]
  flowRef: {name: f}
  syncConfig: {createNamespace: true, diffNormalizers: [{name: queue, jsonPointers: [/spec/replicas]}]}
---
apiVersion: v1
kind: Secret
metadata: {name: queue-secrets, namespace: platform}
stringData: {password: hunter22}
---
apiVersion: deployments.plural.sh/v1alpha1
kind: GitRepository
metadata: {name: fleet, namespace: nobody-cares}
spec: {url: https://git.example.test/fleet.git}
`

func TestReadAFleet(t *testing.T) {
	items, err := read(t, fleet)
	if err != nil {
		t.Fatal(err)
	}
	if len(items) != 2 || items[0].Kind != "GitRepository" || items[1].Kind != "ServiceDeployment" {
		t.Fatalf("items %+v", items)
	}
	service := items[1].Service
	if service.GetRef().GetCluster() != "edge-17" || service.GetSpec().GetRepository() != "fleet" || service.GetSpec().GetNamespace() != "queue" {
		t.Errorf("service %v", service)
	}
	if service.GetSpec().GetSecrets()["password"] != "hunter22" || service.GetSpec().GetHelm().GetValues() != "replicas: 3\n" {
		t.Errorf("secrets or values are lost: %v", service.GetSpec())
	}
	refs := service.GetSpec().GetSecretRefs()
	if token := refs["token"]; len(refs) != 2 || token.GetBackend() != "vault" || token.GetPath() != "apps/queue" || token.GetKey() != "value" || refs["plain"].GetPath() != "apps/plain" {
		t.Errorf("references are lost: %v", refs)
	}
	if diff := cmp.Diff([]string{"spec.flowRef"}, items[1].NotActing); diff != "" {
		t.Errorf("not acting (-want +got):\n%s", diff)
	}
	if !strings.HasSuffix(items[1].Where, "all.yaml:3") {
		t.Errorf("where = %s", items[1].Where)
	}
}

func TestSourcesOfAService(t *testing.T) {
	items, err := read(t, `apiVersion: deployments.plural.sh/v1alpha1
kind: ServiceDeployment
metadata: {name: queue, namespace: platform}
spec:
  cluster: edge-17
  git: {ref: main, folder: helm, url: "https://git.example.test/fleet.git", submodules: true, lfs: true}
  helm: {url: "https://charts.example.test", chart: queue, version: 2.x.x, valuesFiles: [queue.yaml]}
  sources:
  - {path: rules, repositoryRef: {name: rules}, git: {ref: v1, folder: base}}
  - {path: extra, repositoryRef: {name: charts}, chart: extra, version: ~1.2}
  - {path: third, url: "oci://registry.example.test/charts", chart: third}
`)
	if err != nil {
		t.Fatal(err)
	}
	spec := items[0].Service.GetSpec()
	want := []*hubv1.Source{
		{Path: "rules", Repository: "rules", Git: &hubv1.Git{Ref: "v1", Folder: "base"}},
		{Path: "extra", Repository: "charts", Chart: "extra", Version: "~1.2"},
		{Path: "third", Url: "oci://registry.example.test/charts", Chart: "third"},
	}
	if diff := cmp.Diff(want, spec.GetSources(), protocmp.Transform()); diff != "" {
		t.Errorf("sources (-want +got):\n%s", diff)
	}
	if !spec.GetGit().GetSubmodules() || !spec.GetGit().GetLfs() || spec.GetHelm().GetUrl() == "" || spec.GetHelm().GetVersion() != "2.x.x" {
		t.Errorf("git %v, helm %v", spec.GetGit(), spec.GetHelm())
	}
}

// Fields with the same name at different places are not mixed up.
func TestFieldsOfTheSameNameAreKeptApart(t *testing.T) {
	items, err := read(t, `apiVersion: deployments.plural.sh/v1alpha1
kind: ServiceDeployment
metadata: {name: queue, namespace: platform}
spec:
  cluster: edge-17
  adopt: true
  drift: strict
  serviceAccount: platform/delivery
  projectRef: {name: shop}
  configuration: {name: other}
  helm:
    repositoryRef: {name: charts}
    git: {ref: main, folder: charts/queue}
  renderers:
  - {path: extra, type: HELM, helm: {values: "replicas: 2\n"}}
  - {path: more, type: HELM, helm: {values: {replicas: 3}}}
`)
	if err != nil {
		t.Fatal(err)
	}
	want := &hubv1.ServiceSpec{
		Namespace: "platform", Adopt: true, Drift: "strict", ServiceAccount: "platform/delivery", Configuration: map[string]string{"name": "other"},
		Helm: &hubv1.Helm{Repository: "charts", Git: &hubv1.Git{Ref: "main", Folder: "charts/queue"}},
		Renderers: []*hubv1.Renderer{
			{Path: "extra", Type: "HELM", Helm: &hubv1.Helm{Values: "replicas: 2\n"}},
			{Path: "more", Type: "HELM", Helm: &hubv1.Helm{Values: "replicas: 3\n"}},
		},
	}
	if diff := cmp.Diff(want, items[0].Service.GetSpec(), protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if service := items[0].Service; service.GetRef().GetName() != "queue" || service.GetProject() != "shop" {
		t.Errorf("it is %q of project %q", service.GetRef().GetName(), service.GetProject())
	}
}

func TestBadManifestsSayWhere(t *testing.T) {
	const head = "apiVersion: deployments.plural.sh/v1alpha1\n"
	tests := map[string]struct{ text, want string }{
		"unknown field":  {head + "kind: GitRepository\nmetadata: {name: a}\nspec: {url: x, ulr: y}\n", "ulr"},
		"other case":     {head + "kind: Cluster\nmetadata: {name: a}\nspec: {Handle: b}\n", `unknown field "spec.Handle"`},
		"no text":        {head + "kind: Cluster\nmetadata: {name: a}\nspec: {tags: {tier: 1}}\n", "tags"},
		"twice":          {head + "kind: Cluster\nmetadata: {name: a}\nspec: {handle: b, handle: c}\n", "handle"},
		"stored kind":    {head + "kind: Pipeline\nmetadata: {name: a}\n", "Nothing is promoted: the hub has no pipelines yet"},
		"unknown kind":   {"---\n" + head + "kind: Pipelin\nmetadata: {name: a}\n", "all.yaml:2: kind Pipelin is not supported"},
		"other group":    {"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n", "through a service's repository"},
		"operator":       {head + "kind: Group\nmetadata: {name: a}\nspec: {name: b}\n", `Group "a" is for the operator; apply it to the management cluster`},
		"operator's own": {"apiVersion: axle-cd.github.io/v1alpha1\nkind: ReferenceGrant\nmetadata: {name: a}\nspec: {}\n", `ReferenceGrant "a" is for the operator; apply it to the management cluster`},
		"no name":        {head + "kind: Cluster\nspec: {}\n", "no metadata.name"},
		"no cluster":     {head + "kind: ServiceDeployment\nmetadata: {name: a}\nspec: {}\n", "spec.cluster"},
		"missing secret": {head + "kind: GitRepository\nmetadata: {name: a}\nspec: {url: x, credentialsRef: {name: s, namespace: ns}}\n", "Secret ns/s is not among the files"},
		"no previews":    {"apiVersion: axle-cd.github.io/v1alpha1\nkind: ProjectLimits\nmetadata: {name: a}\nspec: {project: shop, services: 2, previews: 0}\n", "spec.previews: 0 is no limit; give 1 or more, or leave it out"},
		"no services":    {"apiVersion: axle-cd.github.io/v1alpha1\nkind: ProjectLimits\nmetadata: {name: a}\nspec: {project: shop, services: -1}\n", "spec.services: -1 is no limit"},
		"not yaml":       {"a: b: c\n", "not valid YAML"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := read(t, tc.text)
			if !errcode.Is(err, errcode.Invalid) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("err = %v, want %q in it", err, tc.want)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add(fleet)
	f.Add("---\n---\n{}")
	f.Fuzz(func(t *testing.T, text string) {
		items, err := manifest.Read([]string{"-"}, func() ([]byte, error) { return []byte(text), nil })
		if err != nil && !errcode.Is(err, errcode.Invalid) {
			t.Errorf("an uncoded error: %v", err)
		}
		for _, item := range items {
			if item.Name == "" {
				t.Errorf("an item without a name: %+v", item)
			}
		}
	})
}
