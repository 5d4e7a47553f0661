package terraform_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/sdk"
)

// examples copies the examples into a workspace.
func (w *workspace) examples() {
	w.t.Helper()
	files, err := filepath.Glob("../examples/terraform/*.tf")
	if err != nil || len(files) < 20 {
		w.t.Fatalf("%d examples, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			w.t.Fatal(err)
		}
		w.write(filepath.Base(file), string(text))
	}
}

// changes are made to the examples at once, and change every object in place that can be.
const changes = `
resource "axle_project" "shop" { description = "The shop" }
resource "axle_project_limits" "shop" { namespaces = ["shop-*", "shop", "web"] }
resource "axle_cluster" "edge" {
  handle = "edge-one"
  tags   = { tier = "test" }
}
resource "axle_repository" "fleet" {
  options = { max_bytes = 1073741824 }
}
resource "axle_webhook" "fleet" { secret_wo_version = 2 }
resource "axle_service" "web" {
  git                = { ref = "main", folder = "apps/shop" }
  secrets_wo_version = 2
  sync_windows       = [{ kind = "allow", schedule = "0 8 * * *", duration = "8h" }]
}
resource "axle_service" "cache" { protect = false }
resource "axle_global_service" "metrics" { ignore_clusters = ["edge-9"] }
resource "axle_managed_namespace" "team" { labels = { team = "b" } }
resource "axle_service_context" "shop" { values = jsonencode({ domain = "shop.example.org" }) }
resource "axle_outputs" "network" { values = jsonencode({ vpc_id = "vpc-2" }) }
resource "axle_hub_settings" "this" { sync_windows = [] }
resource "axle_access_binding" "sre" { actions = ["read", "git"] }
resource "axle_login_provider" "company" { email_domains = ["example.com", "example.org"] }
resource "axle_notification_sink" "ops" { url_wo_version = 2 }
resource "axle_notification_router" "ops" { events = ["service.update", "cluster.create"] }
`

// inPlace are the addresses in changes.
func inPlace() map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(changes) {
		if part := strings.Split(line, `"`); strings.HasPrefix(line, "resource") {
			out[part[1]+"."+part[3]] = "update"
		}
	}
	delete(out, "axle_service.cache") // it was false before
	return out
}

// TestExamples applies the example of each resource in one configuration, and goes with
// all of them through their lives.
func TestExamples(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{})
	w := newWorkspace(t, h)
	w.examples()
	w.apply()
	w.empty()

	w.write("changes_override.tf", changes)
	w.want(inPlace())
	w.apply()
	w.empty()

	// All of them, forgotten and imported by the ids of their state.
	ids := w.ids()
	w.run(append([]string{"state", "rm"}, w.state()...)...)
	var imports strings.Builder
	for _, address := range slices.Sorted(maps.Keys(ids)) {
		imports.WriteString("import {\n  to = " + address + "\n  id = \"" + ids[address] + "\"\n}\n")
	}
	w.write("imports.tf", imports.String())
	for address, actions := range w.plan() {
		// Secrets cannot be read: the version is what changes.
		if actions != "update" || !slices.Contains([]string{
			"axle_repository.fleet", "axle_webhook.fleet", "axle_service.web", "axle_service_context.shop", "axle_login_provider.company", "axle_notification_sink.ops",
			"axle_agent_upgrade.fleet", // the hub does not show its pace
			"axle_hub_settings.this",   // empty windows are nobody's, so that they are taken over
		}, address) {
			t.Errorf("%s: after the import %s is planned", address, actions)
		}
	}
	w.apply()
	w.remove("imports.tf")
	w.empty()

	// Another object of each kind.
	w.write("more.tf", "resource \"axle_project\" \"other\" { name = \"other\" }\n")
	names, replaced := replacements()
	w.write("names_override.tf", names)
	replaced["axle_project.other"] = "create"
	w.want(replaced)
	w.replaces()
	w.apply()
	w.empty()

	// And another one of the same name.
	again, addresses := []string{}, map[string]string{}
	for _, l := range lives {
		if l.never == "" {
			again = append(again, "-replace="+l.address())
			addresses[l.address()] = "delete+create"
		}
	}
	w.want(addresses, again...)
	w.run("apply", "-no-color", "plan.bin")
	w.empty()

	// What somebody deleted is planned to be created again: some of it, and then all.
	for _, all := range []bool{false, true} {
		w.want(w.vanish(h, all))
		w.apply()
		w.empty()
	}

	w.run("destroy", "-auto-approve")
	if left := w.state(); len(left) > 0 {
		t.Errorf("after destroy, the state has %v", left)
	}
	w.remove("changes_override.tf")
	w.remove("names_override.tf")
	w.secrecy(h.AdminToken)
	nothing(t, client(t, h))
}

func (w *workspace) remove(name string) {
	w.t.Helper()
	if err := os.Remove(filepath.Join(w.dir, name)); err != nil {
		w.t.Fatal(err)
	}
}

// ids are the ids to import by: those of the state for what has one, and names.
func (w *workspace) ids() map[string]string {
	w.t.Helper()
	out := map[string]string{}
	for address, v := range w.values() {
		text := func(name string) string { text, _ := v[name].(string); return text }
		kind, _, _ := strings.Cut(address, ".")
		switch kind {
		case "axle_service":
			out[address] = text("cluster") + "/" + text("name")
		case "axle_cluster":
			out[address] = "@" + text("handle")
		case "axle_user":
			out[address] = text("email")
		default:
			out[address] = text("id")
		}
	}
	return out
}

// nothing wants that the hub has nothing left of the examples.
func nothing(t *testing.T, c *sdk.Client) {
	t.Helper()
	projects, err := c.Projects.List(t.Context(), connect.NewRequest(&hubv1.ListProjectsRequest{ManagedByTool: "terraform"}))
	if err != nil || len(projects.Msg.GetProjects()) > 0 {
		t.Errorf("projects: %v, %v", projects.Msg.GetProjects(), err)
	}
	clusters, err := c.Clusters.List(t.Context(), connect.NewRequest(&hubv1.ListClustersRequest{}))
	if err != nil || len(clusters.Msg.GetClusters()) > 0 {
		t.Errorf("clusters: %v, %v", clusters.Msg.GetClusters(), err)
	}
	repositories, err := c.Repositories.List(t.Context(), connect.NewRequest(&hubv1.ListRepositoriesRequest{}))
	if err != nil || len(repositories.Msg.GetRepositories()) > 0 {
		t.Errorf("repositories: %v, %v", repositories.Msg.GetRepositories(), err)
	}
	users, err := c.Users.List(t.Context(), connect.NewRequest(&hubv1.ListUsersRequest{}))
	if err != nil || len(users.Msg.GetUsers()) != 1 {
		t.Errorf("users: %v, %v", users.Msg.GetUsers(), err)
	}
	windows, err := c.Hub.GetSyncWindows(t.Context(), connect.NewRequest(&hubv1.GetSyncWindowsRequest{}))
	if err != nil || len(windows.Msg.GetSyncWindows()) > 0 {
		t.Errorf("sync windows: %v, %v", windows.Msg.GetSyncWindows(), err)
	}
}
