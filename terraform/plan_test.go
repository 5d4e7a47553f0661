package terraform_test

import (
	"testing"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/hubtest"
)

// TestMistakesAreSaidByThePlan has one mistake of each sort, which no hub is asked about.
func TestMistakesAreSaidByThePlan(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{})
	w := newWorkspace(t, h)
	w.config(`
resource "axle_project" "bad" {
  name = "Not A Name"
}
resource "axle_hub_settings" "bad" {
  sync_windows = [{ kind = "perhaps", schedule = "61 * * * *", duration = "soon", time_zone = "Mars/Olympus" }]
}
resource "axle_cluster" "bad" {
  name     = "edge"
  metadata = "{"
}
resource "axle_global_service" "bad" {
  name     = "bad"
  template = { repository = "fleet", git = { ref = "main", folder = "{% if cluster.name %}" } }
  rollout  = { soak = "long" }
}
resource "axle_user" "bad" {
  email = "nobody"
}
resource "axle_repository" "bad" {
  name = "bad"
  type = "svn"
  url  = "https://git.example.com/x.git"
}
resource "axle_notification_router" "bad" {
  name    = "bad"
  events  = ["*"]
  sinks   = []
  filters = [{ regex = "(" }]
}
`)
	w.fails([]string{"validate", "-no-color"}, `"Not A Name" is not a name`, `"perhaps" is none of allow, deny`, "61", `"soon" is not a duration`, "Mars/Olympus", "it is not JSON", `"long" is not a duration`,
		"is not an e-mail address", `"svn" is none of git, helm, oci, bucket`, "is not a regular expression", "is no Liquid")

	// What the hub alone can say, it says to a plan: nothing is written.
	w.config(`
resource "axle_cluster" "edge" {
  name = "edge-1"
}
resource "axle_repository" "fleet" {
  name = "fleet"
  url  = "https://git.example.com/x.git"
}
resource "axle_service" "bad" {
  cluster    = axle_cluster.edge.name
  name       = "web"
  repository = axle_repository.fleet.name
  git        = { ref = "main", folder = "../outside" }
}
resource "axle_service" "other" {
  cluster    = axle_cluster.edge.name
  name       = "other"
  repository = "missing"
  git        = { ref = "main", folder = "web" }
}
`)
	w.run("apply", "-auto-approve", "-no-color", "-target=axle_cluster.edge", "-target=axle_repository.fleet")
	w.fails([]string{"plan", "-no-color"}, "leaves the source")
}

// TestUnknownValues plans with values that only an apply knows, everywhere.
func TestUnknownValues(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{})
	w := newWorkspace(t, h)
	w.config(`
resource "terraform_data" "late" {
  input = "late"
}
locals { late = terraform_data.late.output }
resource "axle_project" "p" {
  name        = local.late
  description = local.late
}
resource "axle_cluster" "c" {
  name     = local.late
  project  = axle_project.p.name
  tags     = { (terraform_data.late.input) = local.late }
  metadata = jsonencode({ x = local.late })
}
resource "axle_repository" "r" {
  name                   = local.late
  url                    = "https://git.example.com/${local.late}.git"
  credentials_wo         = { username = local.late, password = local.late }
  credentials_wo_version = length(local.late)
}
resource "axle_service" "s" {
  cluster            = axle_cluster.c.name
  name               = local.late
  repository         = axle_repository.r.name
  git                = { ref = local.late, folder = local.late }
  configuration      = { x = local.late }
  contexts           = [axle_service_context.x.name]
  sync_windows       = [for kind in [local.late] : { kind = replace(kind, "late", "allow"), schedule = "0 8 * * *", duration = "8h" }]
  secrets_wo         = { y = local.late }
  secrets_wo_version = length(local.late)
}
resource "axle_service_context" "x" {
  name   = local.late
  values = jsonencode({ x = local.late })
}
resource "axle_user" "u" {
  email = "${local.late}@example.com"
}
resource "axle_group" "g" {
  name = local.late
}
resource "axle_access_binding" "b" {
  subject_kind = "group"
  subject      = axle_group.g.name
  actions      = [replace(local.late, "late", "read")]
  cluster      = axle_cluster.c.name
}
`)
	w.apply()
	w.empty()
	w.run("destroy", "-auto-approve")
}

// TestSecretsThatOthersChanged sends a secret again that the hub has otherwise.
func TestSecretsThatOthersChanged(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{})
	c := client(t, h)
	w := newWorkspace(t, h)
	w.config(`
resource "axle_cluster" "edge" {
  name = "edge-1"
}
resource "axle_repository" "fleet" {
  name = "fleet"
  url  = "https://git.example.com/x.git"
}
resource "axle_service" "web" {
  cluster            = axle_cluster.edge.name
  name               = "web"
  repository         = axle_repository.fleet.name
  git                = { ref = "main", folder = "web" }
  secrets_wo         = { password = "planted-by-terraform" }
  secrets_wo_version = 1
}
resource "axle_service_context" "x" {
  name               = "x"
  secrets_wo         = { password = "planted-by-terraform" }
  secrets_wo_version = 1
}
`)
	w.apply()
	w.empty()
	have, err := c.Services.Get(t.Context(), connect.NewRequest(&hubv1.GetServiceRequest{Ref: &hubv1.ServiceRef{Cluster: "edge-1", Name: "web"}}))
	if err != nil {
		t.Fatal(err)
	}
	spec := have.Msg.GetSpec()
	spec.Secrets["password"] = "changed by others"
	by := &hubv1.Management{By: &hubv1.Manager{Tool: "terraform", Id: "default"}}
	if _, err := c.Services.Update(t.Context(), connect.NewRequest(&hubv1.UpdateServiceRequest{Ref: &hubv1.ServiceRef{Cluster: "edge-1", Name: "web"}, Spec: spec, Management: by})); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Contexts.Update(t.Context(), connect.NewRequest(&hubv1.UpdateContextRequest{Context: &hubv1.Context{Name: "x", Values: "{}", Secrets: map[string]string{"password": "changed by others"}}, Management: by})); err != nil {
		t.Fatal(err)
	}
	w.want(map[string]string{"axle_service.web": "update", "axle_service_context.x": "update"})
	w.apply()
	w.empty()
}
