package terraform_test

import (
	"fmt"
	"strings"
	"testing"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/terraform"
)

// TestDataSources reads every list, and one object of each kind, of a hub with the
// examples.
func TestDataSources(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{})
	w := newWorkspace(t, h)
	w.examples()
	w.apply()
	keys := map[string]string{
		"project": `name = "shop"`, "project_limits": `project = "shop"`, "cluster": `name = "edge-1"`, "repository": `name = "fleet"`, "webhook": `name = "fleet"`, "cluster_template": `name = "eks"`, "custom_compatibility_matrix": `name = "edge-proxy"`, "application": `name = "wiki"`, "telemetry_source": `name = "edge-1-metrics"`,
		"service": "cluster = \"edge-1\"\n  name = \"web\"", "global_service": `name = "metrics"`, "managed_namespace": `name = "team-a"`, "service_context": `name = "shop"`,
		"outputs": `name = "network"`, "user": `email = "ann@example.com"`, "admin_grant": `user = "ann@example.com"`, "group": `name = "sre"`, "service_account": `name = "ci"`,
		"federation_trust": `name = "github"`, "login_provider": `name = "company"`, "notification_sink": `name = "ops"`, "notification_router": `name = "ops"`,
	}
	var b, outputs strings.Builder
	singles, lists := terraform.DataSourceNames()
	for _, name := range singles {
		if keys[name] == "" {
			t.Fatalf("the data source axle_%s is not tested: give it a key here", name)
		}
		fmt.Fprintf(&b, "data \"axle_%s\" \"one\" {\n  %s\n}\n", name, keys[name])
	}
	for _, name := range lists {
		config := ""
		if name == "service_revisions" || name == "service_tests" {
			config = "cluster = \"edge-1\"\n  name = \"web\""
		}
		fmt.Fprintf(&b, "data \"axle_%s\" \"all\" {\n  %s\n}\n", name, config)
		fmt.Fprintf(&outputs, "  %s = length(data.axle_%s.all.%s)\n", name, name, name)
	}
	w.write("data.tf", b.String()+"output \"counts\" {\n  value = {\n"+outputs.String()+"  }\n}\n"+`
output "domain" { value = jsondecode(data.axle_service_context.one.values).domain }
output "folder" { value = data.axle_service.one.spec.git.folder }
output "handle" { value = provider::axle::handle("Prod EU (1)") }
output "id" { value = provider::axle::service_id("edge-1", "web") }
`)
	w.apply()
	w.empty()
	var shown struct {
		Values struct {
			Outputs map[string]struct {
				Value any `json:"value"`
			} `json:"outputs"`
		} `json:"values"`
	}
	w.show(&shown)
	out := shown.Values.Outputs
	for name, want := range map[string]string{"domain": "shop.example.com", "folder": "apps/web", "handle": "prod-eu-1", "id": "edge-1/web"} {
		if out[name].Value != want {
			t.Errorf("output %s: %v, want %s", name, out[name].Value, want)
		}
	}
	counts, _ := out["counts"].Value.(map[string]any)
	for _, name := range lists {
		n, ok := counts[name].(float64)
		if empty := name == "service_tests" || name == "service_revisions"; !ok || (n == 0) != empty {
			t.Errorf("axle_%s has %v rows", name, counts[name])
		}
	}
	w.secrecy(h.AdminToken)

	w.config("data \"axle_project\" \"none\" {\n  name = \"nothing\"\n}\n")
	w.fails([]string{"plan", "-no-color"}, "There is no project nothing")
}

// TestEphemeralTokens uses a token in one run. It is revoked at its end, and in no file.
func TestEphemeralTokens(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{})
	c := client(t, h)
	w := newWorkspace(t, h)
	w.config(`
resource "axle_service_account" "ci" {
  name = "ci"
}
ephemeral "axle_token" "ci" {
  service_account = axle_service_account.ci.name
  name            = "run of ${axle_service_account.ci.id}"
  scopes          = ["read"]
}
ephemeral "axle_bootstrap_token" "edge" {
  name_pattern = "edge-*"
  max_uses     = 2
}
resource "axle_service_context" "kept" {
  name               = "kept"
  secrets_wo         = { token = ephemeral.axle_token.ci.token, bootstrap = ephemeral.axle_bootstrap_token.edge.token }
  secrets_wo_version = 1
}
`)
	w.apply()
	tokens, err := c.Tokens.List(t.Context(), connect.NewRequest(&hubv1.ListTokensRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	bootstraps := 0
	for _, token := range tokens.Msg.GetTokens() {
		if token.GetOwner() == "ci" {
			t.Errorf("the token %s was not revoked", token.GetName())
		}
		if token.GetKind() == "bootstrap" {
			bootstraps++
		}
	}
	if bootstraps == 0 {
		t.Error("there is no bootstrap token")
	}
	kept, err := c.Contexts.Get(t.Context(), connect.NewRequest(&hubv1.GetContextRequest{Name: "kept"}))
	if err != nil || len(kept.Msg.GetSecrets()) != 2 {
		t.Errorf("the context has %v, %v", kept.Msg.GetSecrets(), err)
	}
	w.secrecy(h.AdminToken)
}
