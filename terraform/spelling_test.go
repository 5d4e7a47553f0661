package terraform_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/hubtest"
)

// TestValuesStayAsTheyWereWritten applies values that the hub understands in more than one
// spelling: nothing is tainted, the plan after it is empty, and so it is with another
// spelling.
func TestValuesStayAsTheyWereWritten(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{})
	w := newWorkspace(t, h)
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	w.write("id", string(pem.EncodeToMemory(block)))
	w.write("hosts", knownhosts.Line([]string{"git.example.com"}, key)+"\n")
	const config = `
resource "axle_repository" "slash" {
  name = "slash"
  url  = "https://git.example.com/Team/app/"
}
resource "axle_repository" "port" {
  name = "port"
  url  = "HTTPS://GIT.example.com:443/Team/app.git"
}
resource "axle_repository" "azure" {
  name = "azure"
  url  = "https://contoso@dev.azure.com/contoso/shop/_git/app"
  credentials_wo         = { password = "hunter2" }
  credentials_wo_version = 1
}
resource "axle_repository" "short" {
  name = "short"
  url  = "git@git.example.com:team/app.git"
  credentials_wo         = { private_key = file("id"), known_hosts = file("hosts") }
  credentials_wo_version = 1
}
resource "axle_repository" "charts" {
  name = "charts"
  type = "helm"
  url  = "https://Charts.example.com/stable/"
}
resource "axle_repository" "images" {
  name = "images"
  type = "oci"
  url  = "oci://GHCR.io/acme/charts/"
}
resource "axle_user" "ann" {
  email = "Ann@Example.com"
}
resource "axle_group" "ops" {
  name = "ops"
}
resource "axle_group_member" "ann" {
  group      = axle_group.ops.name
  user       = "Ann@Example.com"
  depends_on = [axle_user.ann]
}
resource "axle_access_binding" "ann" {
  subject_kind = "user"
  subject      = "Ann@Example.com"
  actions      = ["write", "read"]
  depends_on   = [axle_user.ann]
}
resource "axle_admin_grant" "ann" {
  user       = "Ann@Example.com"
  depends_on = [axle_user.ann]
}
resource "axle_login_provider" "sso" {
  name          = "sso"
  issuer        = "https://Login.example.com/"
  client_id     = "axle"
  scopes        = ["openid", "email", "groups"]
  email_domains = ["@Example.COM", "example.org"]
}
resource "axle_project" "shop" {
  name = "shop"
}
resource "axle_project_limits" "shop" {
  project      = axle_project.shop.name
  namespaces   = ["shop-*", "a"]
  kinds        = ["deployments.apps", "configmaps"]
  sync_windows = [{ kind = "deny", schedule = "0 9 * * MON-FRI", duration = "60m", time_zone = "Europe/Berlin" }]
}
resource "axle_notification_sink" "ops" {
  name           = "ops"
  type           = "SLACK"
  url_wo         = "https://hooks.example.com/x"
  url_wo_version = 1
}
resource "axle_notification_router" "ops" {
  name   = "ops"
  events = ["service.failed", "*"]
  sinks  = [axle_notification_sink.ops.name]
}
resource "axle_cluster" "edge" {
  name     = "edge-1"
  tags     = { Tier = " Edge " }
  metadata = "{ \"zones\": [ \"b\", \"a\" ] }"
}
resource "axle_service" "web" {
  cluster    = axle_cluster.edge.name
  name       = "web"
  namespace  = "web"
  git        = { url = "git@git.example.com:/team/app", ref = " main ", folder = "/web//" }
  depends_on = [axle_repository.short]
}
`
	w.config(config)
	w.apply()
	w.empty()
	c := client(t, h)
	before, err := c.Repositories.Get(t.Context(), connect.NewRequest(&hubv1.GetRepositoryRequest{Name: "short"}))
	if err != nil || before.Msg.GetUrl() != "git@git.example.com:team/app.git" || before.Msg.GetAuth() != "ssh" {
		t.Fatalf("%v, %v", before, err)
	}
	w.config(strings.NewReplacer("git@git.example.com:team/app.git", "ssh://git@git.example.com:22/team/app", "https://contoso@dev", "https://dev", "Team/app/", "Team/app").Replace(config))
	w.want(map[string]string{"axle_repository.short": "update", "axle_repository.azure": "update", "axle_repository.slash": "update"})
	w.apply()
	w.empty()
	after, err := c.Repositories.Get(t.Context(), connect.NewRequest(&hubv1.GetRepositoryRequest{Name: "short"}))
	if err != nil || after.Msg.GetUrl() != "ssh://git@git.example.com:22/team/app" || after.Msg.GetAuth() != "ssh" || after.Msg.GetId() != before.Msg.GetId() {
		t.Errorf("%v, %v", after, err)
	}
}
