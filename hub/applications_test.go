package hub_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/application"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/internal/errcode"
)

// app is a request for an application of the project shop.
func app(name, more string) string {
	return fmt.Sprintf(`{"name": %q, "settings": {"project": "shop"%s}}`, name, more)
}

// client is the client of an application, as the identity provider sees it.
func (b *tableBed) clientOf(name string) application.Client {
	b.t.Helper()
	one := b.must("Applications/Get", fmt.Sprintf(`{"name": %q}`, name))
	id, _ := one["settings"].(map[string]any)["clientId"].(string)
	if id == "" {
		id = one["id"].(string)
	}
	c, err := b.Parts().Applications.Client(b.t.Context(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

func TestAnApplicationIsAClient(t *testing.T) {
	onBothHubs(t, func(t *testing.T, b *tableBed) {
		b.must("Projects/Update", `{"name": "shop", "limits": {"domains": ["shop.example.com"]}}`)
		b.must("Applications/Apply", app("wiki", `, "title": "Wiki", "redirectUris": ["https://wiki.shop.example.com/cb", "http://127.0.0.1/cb"], "users": ["Ada@Example.com"], "groups": ["dev"], "groupsPrefix": "dev", "idLifetime": "5m"`))
		c := b.clientOf("wiki")
		if !strings.HasPrefix(c.ID, "app_") || c.Name != "wiki" || c.Title != "Wiki" || c.Access != 15*time.Minute || c.Identity != 5*time.Minute || c.Refresh != 720*time.Hour || c.Algorithm != "RS256" {
			t.Errorf("%+v", c)
		}
		if !c.ReturnsTo("https://wiki.shop.example.com/cb") || c.ReturnsTo("https://wiki.shop.example.com/cb/") || c.ReturnsTo("http://127.0.0.1:8000/cb") {
			t.Error("redirect URIs are not compared as a whole")
		}
		if !c.Admits("ADA@example.com", nil) || !c.Admits("eve@example.com", []string{"dev"}) || c.Admits("eve@example.com", []string{"developers"}) {
			t.Errorf("%v and %v do not decide who may log in", c.Users, c.Groups)
		}
		if got := fmt.Sprint(c.GroupsFor([]string{"ops", "dev", "dev-web"})); got != "[dev dev-web]" {
			t.Errorf("tokens have the groups %s", got)
		}
		if _, err := b.Parts().Applications.Authenticate(t.Context(), c.ID, ""); !errcode.Is(err, errcode.Unauthorized) {
			t.Errorf("no secret is one: %v", err)
		}
		b.must("Applications/Apply", app("native", `, "public": true, "redirectUris": ["http://127.0.0.1/cb"]`))
		if n := b.clientOf("native"); !n.ReturnsTo("http://127.0.0.1:8000/cb") || n.ReturnsTo("http://localhost:8000/cb") || n.ReturnsTo("http://127.0.0.1:8000/other") || n.Admits("ada@example.com", []string{"dev"}) {
			t.Errorf("a native application: %+v", n)
		}
		b.must("Applications/Delete", `{"name": "wiki"}`)
		if _, err := b.Parts().Applications.Client(t.Context(), c.ID); !errcode.Is(err, errcode.NotFound) {
			t.Errorf("the client of a deleted application: %v", err)
		}
	})
}

// Whoever reads a project reads its applications, and nobody else learns of them.
func TestApplicationsAreOfTheirProject(t *testing.T) {
	onBothHubs(t, func(t *testing.T, b *tableBed) {
		b.person("seller", `{"project": "shop"}`, "write")
		b.ok("seller", "Applications/Apply", app("wiki", `, "public": true`))
		b.refused("reader", "Applications/Apply", app("wiki", ``), http.StatusForbidden, "project shop")
		for call, request := range map[string]string{"Get": `{"name": "wiki"}`, "Delete": `{"name": "wiki"}`, "Apply": app("wiki", "")} {
			b.refused("mallory", "Applications/"+call, request, http.StatusNotFound, "does not exist")
		}
		if got := fmt.Sprint(b.ok("mallory", "Applications/List", `{}`)["applications"]); got != "<nil>" {
			t.Errorf("a stranger lists %s", got)
		}
		if got := fmt.Sprint(b.ok("reader", "Applications/List", `{}`)["applications"]); !strings.Contains(got, "wiki") {
			t.Errorf("a reader lists %s", got)
		}
		b.refused("seller", "Applications/Apply", strings.Replace(app("wiki", ""), "shop", "lab", 1), http.StatusNotFound, "")
		b.refused("admin", "Applications/Apply", strings.Replace(app("wiki", ""), "shop", "lab", 1), http.StatusConflict, "project")
		b.refused("admin", "Projects/Delete", `{"name": "shop"}`, http.StatusConflict, "")
	})
}

// A client id that is taken over is one that nothing else is known by.
func TestClientIDsOfOthersAreNotTaken(t *testing.T) {
	onBothHubs(t, func(t *testing.T, b *tableBed) {
		b.must("Applications/Apply", app("dex", `, "clientId": "grafana", "clientSecret": "a secret of the former provider"`))
		made := b.must("Applications/Apply", app("made", ""))["application"].(map[string]any)["id"]
		b.must("ServiceAccounts/Create", `{"name": "ci"}`)
		b.must("Federation/Create", `{"name": "ci", "issuer": "https://ci.example.com", "audience": "ci-audience", "account": "ci", "claims": {"repository": "acme/app"}}`)
		for id, status := range map[string]int{
			"grafana": http.StatusConflict, "ci-audience": http.StatusConflict,
			fmt.Sprint(made): http.StatusBadRequest, "app_x": http.StatusBadRequest, "APP_x": http.StatusBadRequest, "sts.amazonaws.com": http.StatusBadRequest,
			"api://azure": http.StatusBadRequest, "https://kubernetes.default.svc": http.StatusBadRequest, "Kubernetes": http.StatusBadRequest, "a b": http.StatusBadRequest,
		} {
			b.refused("admin", "Applications/Apply", app("other", fmt.Sprintf(`, "clientId": %q`, id)), status, "clientId")
		}
		b.refused("admin", "Federation/Create", fmt.Sprintf(`{"name": "sign-in", "issuer": "https://ci.example.com", "audience": %q, "account": "ci", "claims": {"repository": "acme/app"}}`, made), http.StatusBadRequest, "audience")
		b.refused("admin", "Federation/Create", `{"name": "sign-in", "issuer": "https://ci.example.com", "audience": "grafana", "account": "ci", "claims": {"repository": "acme/app"}}`, http.StatusConflict, "audience")
		b.refused("admin", "Applications/Apply", app("dex", `, "clientId": "other"`), http.StatusConflict, "clientId: cannot be changed")
		b.refused("admin", "Applications/Apply", app("short", `, "clientSecret": "guess"`), http.StatusBadRequest, "clientSecret")
		clients := b.Parts().Applications
		if _, err := clients.Authenticate(t.Context(), "grafana", "a secret of the former provider"); err != nil {
			t.Errorf("the secret that was taken over: %v", err)
		}
		for _, wrong := range []string{"", "another secret of a provider"} {
			if _, err := clients.Authenticate(t.Context(), "grafana", wrong); !errcode.Is(err, errcode.Unauthorized) {
				t.Errorf("%q is taken: %v", wrong, err)
			}
		}
		// A declaration that is repeated changes nothing, with the secret or without it.
		for _, secret := range []string{"a secret of the former provider", ""} {
			if got := b.must("Applications/Apply", app("dex", fmt.Sprintf(`, "clientId": "grafana", "clientSecret": %q`, secret)))["result"]; got != "unchanged" {
				t.Errorf("with the secret %q: %v", secret, got)
			}
		}
		for _, call := range []string{"Applications/List", "Applications/Get"} {
			if got := fmt.Sprint(b.must(call, `{"name": "dex"}`)); strings.Contains(got, "former provider") {
				t.Errorf("%s shows the secret: %s", call, got)
			}
		}
	})
}

// delivered is the service that brings the Secret of an application.
func (b *tableBed) delivered(name string) fleet.ServiceView {
	b.t.Helper()
	client := b.must("ApplicationClients/Get", fmt.Sprintf(`{"name": %q}`, name))
	id, _ := client["serviceId"].(string)
	if client["delivered"] != true {
		b.t.Fatalf("nothing is delivered: %v", client)
	}
	v, err := b.Parts().Fleet.ServiceByID(b.t.Context(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	return v
}

// secretOf is the client secret that a service brings.
func (b *tableBed) secretOf(v fleet.ServiceView) string {
	b.t.Helper()
	specs, _, err := b.Parts().Fleet.AgentSpecs(b.t.Context(), v.ClusterID, []string{v.ID})
	if err != nil || len(specs) != 1 {
		b.t.Fatalf("%d specs, %v", len(specs), err)
	}
	var data map[string][]byte
	if err := json.Unmarshal([]byte(specs[0].Secrets["data"]), &data); err != nil {
		b.t.Fatal(err)
	}
	if len(data["clientId"]) == 0 || !strings.HasSuffix(string(data["issuer"]), "/oidc") {
		b.t.Errorf("the Secret has %d keys", len(data))
	}
	return string(data["clientSecret"])
}

// applied reports what is desired of a service as applied.
func (b *tableBed) applied(v fleet.ServiceView, base, hash string) {
	b.t.Helper()
	_, err := b.Parts().Fleet.StoreReports(b.t.Context(), fleet.ReportBatch{ClusterID: v.ClusterID, Reports: []fleet.Report{fleettest.ReportOf(v, base, hash)}})
	if err != nil {
		b.t.Fatal(err)
	}
}

// A secret reaches the cluster of its application, and is replaced without a moment in which
// what the application has is refused.
func TestASecretIsDeliveredAndRotated(t *testing.T) {
	onBothHubs(t, func(t *testing.T, b *tableBed) {
		b.must("Clusters/Create", `{"name": "edge-1", "project": "shop"}`)
		b.must("Applications/Apply", app("wiki", `, "cluster": "edge-1", "namespace": "wiki"`))
		clients, id := b.Parts().Applications, b.clientOf("wiki").ID
		valid := func(secret string) bool {
			_, err := clients.Authenticate(t.Context(), id, secret)
			return err == nil
		}
		v := b.delivered("wiki")
		first := b.secretOf(v)
		if len(first) < 43 || !valid(first) || v.Project != "shop" || v.Spec.Namespace != "wiki" {
			t.Fatalf("service %s of project %s in %s: a secret of %d characters", v.Name, v.Project, v.Spec.Namespace, len(first))
		}
		for _, call := range []string{"Services/Get", "Services/Config"} {
			if got := fmt.Sprint(b.must(call, `{"ref": {"cluster": "edge-1", "name": "wiki-oidc"}}`)); strings.Contains(got, first) {
				t.Errorf("%s shows the secret", call)
			}
		}
		b.refused("admin", "Services/Update", `{"ref": {"cluster": "edge-1", "name": "wiki-oidc"}, "spec": {"namespace": "other"}, "fields": ["namespace"]}`, http.StatusConflict, "managed by the hub")
		b.applied(v, "", "h1")

		b.must("ApplicationClients/Rotate", `{"name": "wiki"}`)
		v = b.delivered("wiki")
		second := b.secretOf(v)
		if second == first || !valid(first) || !valid(second) {
			t.Fatalf("both are valid while the new one is on its way: %t and %t", valid(first), valid(second))
		}
		b.refused("admin", "ApplicationClients/Rotate", `{"name": "wiki"}`, http.StatusConflict, "still valid")
		sweep := func() map[string]any {
			t.Helper()
			if err := clients.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			return b.must("ApplicationClients/Get", `{"name": "wiki"}`)["secrets"].([]any)[1].(map[string]any)
		}
		if former := sweep(); former["endsAt"] != nil {
			t.Errorf("the former secret ends before the agent reported: %v", former)
		}
		b.applied(v, "h1", "h2")
		if former := sweep(); former["endsAt"] == nil || !valid(first) {
			t.Errorf("the former secret after the report: %v", former)
		}
		b.must("ApplicationClients/Rotate", `{"name": "wiki", "now": true}`)
		if third := b.secretOf(b.delivered("wiki")); valid(first) || valid(second) || !valid(third) {
			t.Errorf("after a rotation at once: %t %t %t", valid(first), valid(second), valid(third))
		}
		b.refused("admin", "Clusters/Delete", `{"name": "edge-1"}`, http.StatusConflict, "wiki")
		b.must("Applications/Delete", `{"name": "wiki"}`)
		b.refused("admin", "Services/Get", `{"ref": {"cluster": "edge-1", "name": "wiki-oidc"}}`, http.StatusNotFound, "")
	})
}

// Without a cluster the former secret ends its time after the rotation.
func TestAFormerSecretEnds(t *testing.T) {
	onBothHubs(t, func(t *testing.T, b *tableBed) {
		const secret = "a secret of the former provider"
		b.must("Applications/Apply", app("dex", `, "clientId": "grafana", "clientSecret": "`+secret+`"`))
		clients := b.Parts().Applications
		valid := func() bool {
			_, err := clients.Authenticate(t.Context(), "grafana", secret)
			return err == nil
		}
		if b.must("ApplicationClients/Rotate", `{"name": "dex"}`); !valid() {
			t.Error("the former secret ends at once")
		}
		b.must("ApplicationClients/Rotate", `{"name": "dex", "now": true}`)
		// The one that was taken over comes again, and goes in a microsecond.
		b.must("Applications/Apply", app("dex", `, "clientId": "grafana", "clientSecret": "`+secret+`"`))
		b.refused("admin", "ApplicationClients/Rotate", `{"name": "dex", "overlapMicros": "1"}`, http.StatusConflict, "still valid")
		b.must("ApplicationClients/Rotate", `{"name": "dex", "now": true}`)
		b.must("Applications/Delete", `{"name": "dex"}`)
		b.must("Applications/Apply", app("dex", `, "clientId": "grafana", "clientSecret": "`+secret+`"`))
		if b.must("ApplicationClients/Rotate", `{"name": "dex", "overlapMicros": "1"}`); valid() {
			t.Error("the former secret has no end")
		}
		if err := clients.Sweep(t.Context()); err != nil {
			t.Error(err)
		}
		b.must("ApplicationClients/Rotate", `{"name": "dex"}`)
		b.refused("admin", "ApplicationClients/Rotate", `{"name": "dex", "overlapMicros": "-1"}`, http.StatusBadRequest, "overlap")
		b.must("Applications/Apply", app("native", `, "public": true`))
		b.refused("admin", "ApplicationClients/Rotate", `{"name": "native"}`, http.StatusBadRequest, "public")
	})
}

// Nothing is delivered over what is somebody else's, nor where the project may not go, and a
// project has as many applications as its limits say.
func TestDeliveriesKeepToTheProject(t *testing.T) {
	onBothHubs(t, func(t *testing.T, b *tableBed) {
		b.must("Clusters/Create", `{"name": "edge-1", "project": "shop"}`)
		b.must("Repositories/Create", `{"name": "charts", "project": "shop", "url": "https://git.test/charts"}`)
		b.must("Services/Create", `{"ref": {"cluster": "edge-1", "name": "wiki-oidc"}, "spec": {"repository": "charts", "git": {"ref": "main"}}}`)
		b.must("Applications/Apply", app("wiki", `, "cluster": "edge-1", "namespace": "wiki"`))
		if got := b.must("ApplicationClients/Get", `{"name": "wiki"}`); got["delivered"] == true || !strings.Contains(fmt.Sprint(got["message"]), "somebody else's") {
			t.Errorf("over another service: %v", got)
		}
		b.must("Projects/Update", `{"name": "shop", "limits": {"namespaces": ["shop-*", "wiki-oidc"], "applications": 2}}`)
		b.must("Applications/Apply", app("blog", `, "cluster": "edge-1", "namespace": "kube-system"`))
		if got := b.must("ApplicationClients/Get", `{"name": "blog"}`); got["delivered"] == true || !strings.Contains(fmt.Sprint(got["message"]), "may use") {
			t.Errorf("into a namespace of others: %v", got)
		}
		b.must("Applications/Apply", app("blog", `, "cluster": "edge-1", "namespace": "shop-blog"`))
		b.delivered("blog")
		b.refused("admin", "Applications/Apply", app("third", ""), http.StatusForbidden, "--max-applications")
		// Without its cluster the Secret goes.
		b.must("Applications/Apply", app("blog", ""))
		b.refused("admin", "Services/Get", `{"ref": {"cluster": "edge-1", "name": "blog-oidc"}}`, http.StatusNotFound, "")
		// An application on a cluster of others needs to be allowed there.
		b.must("Clusters/Create", `{"name": "edge-lab", "project": "lab"}`)
		b.person("seller", `{"project": "shop"}`, "write")
		b.refused("seller", "Applications/Apply", app("blog", `, "cluster": "edge-lab", "namespace": "shop-blog"`), http.StatusNotFound, "cluster edge-lab does not exist")
	})
}
