package terraform_test

import (
	"os"
	"strings"
	"testing"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/test/gitserver"
)

// playTemplate are the files of a template whose clusters are never made: its management
// cluster has no agent.
var playTemplate = map[string]gitserver.Content{
	"play/template.yaml": "name: play\n",
	"play/schema.json": `{"type": "object", "properties": {"region": {"type": "string"}, "ebsCsiVersion": {"type": "string"}, "version": {"type": "string", "default": "v1.34.0"},
		"nodePools": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}, "count": {"type": "integer", "default": 2}}}}}}`,
	"play/class/class.yaml": `apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: play}
spec:
  workers: {machineDeployments: [{class: workers}]}
  variables:
  - {name: region, schema: {openAPIV3Schema: {type: string}}}
  - {name: ebsCsiVersion, schema: {openAPIV3Schema: {type: string}}}
`,
}

// templated is a hub with the template eks of the project shop, on mgmt.
func templated(t *testing.T) (*hubtest.Hub, *sdk.Client) {
	t.Helper()
	git, err := gitserver.Start(t.Context(), gitserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = git.Close() })
	if err := git.Create(t.Context(), "fleet"); err != nil {
		t.Fatal(err)
	}
	if _, err := git.Commit(t.Context(), "fleet", "main", "a template", playTemplate); err != nil {
		t.Fatal(err)
	}
	h := hubtest.New(t, hubtest.Config{Hub: hubtest.HubConfig{AllowHTTPUpstreams: true}})
	c := client(t, h)
	for _, call := range []func() error{
		func() error {
			_, err := c.Projects.Create(t.Context(), connect.NewRequest(&hubv1.CreateProjectRequest{Name: "shop"}))
			return err
		},
		func() error {
			_, err := c.Clusters.Create(t.Context(), connect.NewRequest(&hubv1.CreateClusterRequest{Name: "mgmt"}))
			return err
		},
		func() error {
			_, err := c.Repositories.Create(t.Context(), connect.NewRequest(&hubv1.CreateRepositoryRequest{Name: "fleet", Url: git.URL("fleet")}))
			return err
		},
		func() error {
			_, err := c.ClusterTemplates.Apply(t.Context(), connect.NewRequest(&hubv1.ApplyClusterTemplateRequest{Name: "eks", Settings: &hubv1.ClusterTemplateSettings{
				Repository: "fleet", Ref: "main", Folder: "play", ManagementClusters: []string{"mgmt"}, Projects: []string{"shop"}, Kinds: []string{"Cluster.cluster.x-k8s.io", "ClusterClass.cluster.x-k8s.io"},
			}}))
			return err
		},
	} {
		if err := call(); err != nil {
			t.Fatal(err)
		}
	}
	return h, c
}

// The block of the page makes a cluster from a template, changes it, and destroys it only
// after an apply without protection. Other clusters plan nothing.
func TestAClusterOfATemplate(t *testing.T) {
	h, c := templated(t)
	w := newWorkspace(t, h)
	text, err := os.ReadFile("../docs/howto/create-a-cluster.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "```hcl\n")
	block, _, found := strings.Cut(after, "```")
	if !found {
		t.Fatal("the page has no block of Terraform")
	}
	const other = "resource \"axle_cluster\" \"edge\" {\n  name = \"edge-1\"\n}\n"
	given := func(name string) string {
		t.Helper()
		have, err := c.Clusters.Get(t.Context(), connect.NewRequest(&hubv1.GetClusterRequest{Name: name}))
		if err != nil {
			t.Fatal(err)
		}
		return have.Msg.GetOrigin().GetGiven()
	}
	w.config(block + other)
	w.apply()
	//rest: apply ends when the hub has the cluster
	if got, want := given("shop-2"), `{"ebsCsiVersion":"v1.48.0-eksbuild.1","nodePools":[{"count":5,"name":"default"}],"region":"eu-central-1","version":"v1.34.0"}`; got != want {
		t.Errorf("the hub has %s", got)
	}
	w.empty()

	larger := strings.Replace(block, "count = 5", "count = 6", 1)
	w.config(larger + other)
	w.want(map[string]string{"axle_cluster.shop": "update"})
	w.apply()
	//rest: apply ends when the hub has the change
	if got := given("shop-2"); !strings.Contains(got, `"count":6`) {
		t.Errorf("the hub has %s", got)
	}
	w.empty()

	// Neither a file that loses the resource nor another template removes machines.
	w.config(other)
	w.want(map[string]string{"axle_cluster.shop": "delete"})
	w.fails([]string{"apply", "-auto-approve", "-no-color"}, "Cluster shop-2 is protected", "deletion_protection = false")
	w.config(strings.Replace(larger, `"eks"`, `"gke"`, 1) + other)
	w.want(map[string]string{"axle_cluster.shop": "delete+create"})
	w.fails([]string{"apply", "-auto-approve", "-no-color"}, "Cluster shop-2 is protected")
	free := strings.Replace(larger, "resource \"axle_cluster\" \"shop\" {\n", "resource \"axle_cluster\" \"shop\" {\n  deletion_protection = false\n", 1)
	w.config(free + other)
	w.want(map[string]string{"axle_cluster.shop": "update"})
	w.apply()
	w.empty()
	w.config(other)
	w.apply()
	if _, err := c.Clusters.Get(t.Context(), connect.NewRequest(&hubv1.GetClusterRequest{Name: "shop-2"})); !sdk.IsNotFound(err) {
		t.Errorf("the cluster is still there: %v", err)
	}
	w.empty()

	// One that was made otherwise is taken over as it is, with a template or without.
	if _, err := c.Clusters.Create(t.Context(), connect.NewRequest(&hubv1.CreateClusterRequest{Name: "shop-2", Project: "shop", FromTemplate: &hubv1.FromTemplate{
		Template: "eks", Variables: given6,
	}})); err != nil {
		t.Fatal(err)
	}
	w.config(larger + other)
	w.run("import", "-no-color", "axle_cluster.shop", "shop-2")
	w.want(map[string]string{"axle_cluster.shop": "update"})
	w.apply()
	w.empty()
	plain := "resource \"axle_cluster\" \"shop\" {\n  name = \"shop-2\"\n  project = \"shop\"\n}\n"
	w.run("state", "rm", "axle_cluster.shop")
	w.config(plain + other)
	w.run("import", "-no-color", "axle_cluster.shop", "shop-2")
	w.apply()
	w.empty()
}

// given6 are the variables of the page with another number.
const given6 = `{"region": "eu-central-1", "version": "v1.34.0", "ebsCsiVersion": "v1.48.0-eksbuild.1", "nodePools": [{"name": "default", "count": 6}]}`
