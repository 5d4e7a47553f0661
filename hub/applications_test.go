package hub_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/application"
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
			b.refused("admin", "Applications/Apply", app("other", fmt.Sprintf(`, "clientId": %q`, id)), status, "client_id")
		}
		b.refused("admin", "Applications/Apply", app("dex", `, "clientId": "other"`), http.StatusConflict, "client_id: cannot be changed")
		b.refused("admin", "Applications/Apply", app("short", `, "clientSecret": "guess"`), http.StatusBadRequest, "client_secret")
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
