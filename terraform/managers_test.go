package terraform_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/test/bin"
)

const shop = `
resource "axle_project" "shop" {
  name        = "shop"
  description = "from Terraform"
}
`

// TestManagers lets people and two configurations write one project.
func TestManagers(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{})
	c := client(t, h)
	ctx := t.Context()
	if _, err := c.Projects.Create(ctx, connect.NewRequest(&hubv1.CreateProjectRequest{Name: "shop", Description: "by people"})); err != nil {
		t.Fatal(err)
	}
	w := newWorkspace(t, h)
	w.config(shop)
	w.fails(apply, "managed by cli", "terraform import axle_project.NAME shop")

	// An import only reads; the plan shows what an apply takes over.
	w.config(shop + "import {\n  to = axle_project.shop\n  id = \"shop\"\n}\n")
	w.want(map[string]string{"axle_project.shop": "update"})
	manager := func() string {
		p, err := c.Projects.Get(ctx, connect.NewRequest(&hubv1.GetProjectRequest{Name: "shop"}))
		if err != nil {
			t.Fatal(err)
		}
		return p.Msg.GetManagedBy().GetTool() + "/" + p.Msg.GetManagedBy().GetId()
	}
	if got := manager(); got != "cli/" {
		t.Errorf("a plan made %s the manager", got)
	}
	w.apply()
	if got := manager(); got != "terraform/default" {
		t.Errorf("after the import, %s is the manager", got)
	}
	w.config(shop)
	w.empty()

	// Another configuration.
	other := newWorkspace(t, h)
	other.config("provider \"axle\" {\n  manager = \"other\"\n}\n" + shop)
	other.fails(apply, "managed by terraform/default")

	// People take it back. What did not change stays theirs; a change is refused.
	description := "by people again"
	if _, err := c.Projects.Update(ctx, connect.NewRequest(&hubv1.UpdateProjectRequest{Name: "shop", Description: &description, Management: &hubv1.Management{TakeOver: true}})); err != nil {
		t.Fatal(err)
	}
	w.fails(apply, "project shop is managed by people (CLI)", "terraform import")
	w.fails([]string{"destroy", "-auto-approve", "-no-color"}, "is managed by people (CLI)", "terraform state rm")
	w.fails([]string{"import", "-no-color", "axle_project.other", "nothing"}, "resource address")
	w.config(shop + "import {\n  to = axle_project.other\n  id = \"nothing\"\n}\nresource \"axle_project\" \"other\" {\n  name = \"nothing\"\n}\n")
	w.fails([]string{"plan", "-no-color"}, "the hub has no such project; give NAME or the hub's id")
}

// TestMoved takes a project from the state of the existing provider, without that
// provider.
func TestMoved(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{})
	c := client(t, h)
	if _, err := c.Projects.Create(t.Context(), connect.NewRequest(&hubv1.CreateProjectRequest{Name: "shop", Description: "from Terraform"})); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Clusters.Create(t.Context(), connect.NewRequest(&hubv1.CreateClusterRequest{Name: "edge-1", Handle: "one"})); err != nil {
		t.Fatal(err)
	}
	w := newWorkspace(t, h)
	w.former()
	w.write("terraform.tfstate", `{"version": 4, "terraform_version": "1.11.4", "serial": 1, "lineage": "8f1c3c43-2f0a-4a2a-9d2c-0a4f0a4f0a4f", "outputs": {}, "resources": [
  {"mode": "managed", "type": "plural_project", "name": "shop", "provider": "provider[\"registry.terraform.io/pluralsh/plural\"]",
   "instances": [{"schema_version": 0, "attributes": {"id": "4f7c", "name": "shop", "description": "from Terraform", "default": false}}]},
  {"mode": "managed", "type": "plural_cluster", "name": "edge", "provider": "provider[\"registry.terraform.io/pluralsh/plural\"]",
   "instances": [{"schema_version": 0, "attributes": {"id": "77aa", "name": "edge-1", "handle": "one", "kubeconfig": {"host": "https://10.0.0.1"}}}]}
]}`)
	w.config(shop + `
resource "axle_cluster" "edge" {
  name   = "edge-1"
  handle = "one"
}
moved {
  from = plural_project.shop
  to   = axle_project.shop
}
moved {
  from = plural_cluster.edge
  to   = axle_cluster.edge
}
`)
	w.want(map[string]string{"axle_project.shop": "update", "axle_cluster.edge": "update"})
	w.apply()
	w.empty()
	if text := w.run("state", "list"); strings.Contains(text, "plural") {
		t.Errorf("the state still has %s", text)
	}
}

// former puts our program in the place of the existing provider, which Terraform wants
// to be there and asks nothing.
func (w *workspace) former() {
	w.t.Helper()
	config, err := os.ReadFile(filepath.Join(w.dir, "terraform.rc"))
	if err != nil {
		w.t.Fatal(err)
	}
	program, err := bin.Path(w.t.Context(), "terraform-provider-axle", bin.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	dir := w.t.TempDir()
	if err := os.Symlink(program, filepath.Join(dir, "terraform-provider-plural")); err != nil {
		w.t.Fatal(err)
	}
	w.write("terraform.rc", strings.Replace(string(config), "dev_overrides {\n", fmt.Sprintf("dev_overrides {\n    \"pluralsh/plural\" = %q\n", dir), 1))
}
