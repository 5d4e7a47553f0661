package hub_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/fleet"
)

// guarded is a hub on which project shop uses repository shared of project lab by name.
func guarded(t *testing.T) *tableBed {
	t.Helper()
	b := newBindingsBed(t)
	b.register("mallory", "lab", "shared", "git", "http://127.0.0.1:1/shared")
	b.person("reader", `{"project": "shop"}`, "write", "git")
	b.must("Bindings/Create", `{"subjectKind": "user", "subject": "reader@example.com", "actions": ["read"], "place": {"project": "lab"}}`)
	return b
}

// move changes the address of a repository.
func (b *tableBed) move(who, name string) (int, string) {
	b.t.Helper()
	status, answer := b.as(who, "Repositories/Update", fmt.Sprintf(`{"name": %q, "url": "http://127.0.0.1:1/moved-by-%s"}`, name, who))
	return status, fmt.Sprint(answer["message"])
}

// What services of other projects use is moved only with the right to change things there.
func TestAnAddressThatOthersUseIsKept(t *testing.T) {
	t.Parallel()
	for name, uses := range map[string]string{
		"a service":          `Services/Create {"ref": {"cluster": "edge-shop", "name": "hidden"}, "spec": {"repository": "shared", "git": {"ref": "main"}}}`,
		"one of its sources": `Services/Create {"ref": {"cluster": "edge-shop", "name": "hidden"}, "spec": {"helm": {"url": "http://127.0.0.1:1/charts", "chart": "web"}, "sources": [{"path": "a", "repository": "shared", "git": {"ref": "main"}}]}}`,
		"a global service":   `GlobalServices/Apply {"name": "hidden", "settings": {"project": "shop", "tags": {"no": "cluster"}}, "spec": {"repository": "shared", "git": {"ref": "main"}}}`,
		"one with Liquid":    `GlobalServices/Apply {"name": "hidden", "settings": {"project": "shop"}, "spec": {"repository": "shared", "git": {"ref": "main", "folder": "{{ cluster.name }}"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := guarded(t)
			if status, message := b.move("mallory", "shared"); status != http.StatusOK {
				t.Fatalf("nobody uses it: %d: %s", status, message)
			}
			procedure, request, _ := strings.Cut(uses, " ")
			b.ok("reader", procedure, request)
			for _, change := range []string{`"url": "http://127.0.0.1:1/x"`, `"options": {"proxy": "http://127.0.0.1:1"}`, `"url": "http://127.0.0.1:1/x", "auth": "basic", "credentials": {"username": "a", "password": "b"}`} {
				status, answer := b.as("mallory", "Repositories/Update", `{"name": "shared", `+change+`}`)
				if message := fmt.Sprint(answer["message"]); status != http.StatusForbidden || !strings.Contains(message, "1 service(s) of other projects") || strings.Contains(message, "hidden") || strings.Contains(message, "shop") {
					t.Errorf("%s: %d: %s", change, status, message)
				}
			}
			b.ok("mallory", "Repositories/Update", `{"name": "shared", "auth": "basic", "credentials": {"username": "a", "password": "b"}}`)
			status, answer := b.as("mallory", "Repositories/Delete", `{"name": "shared"}`)
			if message := fmt.Sprint(answer["message"]); status != http.StatusConflict || strings.Contains(message, "hidden") {
				t.Errorf("deleting it: %d: %s", status, message)
			}
			status, answer = b.as("admin", "Repositories/Delete", `{"name": "shared"}`)
			if message := fmt.Sprint(answer["message"]); status != http.StatusConflict || !strings.Contains(message, "hidden") {
				t.Errorf("an administrator deletes it: %d: %s", status, message)
			}
			b.must("Bindings/Create", `{"subjectKind": "user", "subject": "mallory@example.com", "actions": ["write"], "place": {"project": "shop"}}`)
			if status, answer := b.as("mallory", "Repositories/Update", `{"name": "shared", "url": "http://127.0.0.1:1/x", "auth": "none"}`); status != http.StatusOK {
				t.Errorf("with the right to change things of shop: %d: %v", status, answer["message"])
			}
		})
	}
}

// A global service for all projects is the whole hub's, also where its repository is of
// the project default.
func TestWhatTheWholeFleetUsesIsMovedByWhoMayChangeTheWholeHub(t *testing.T) {
	t.Parallel()
	b := newBindingsBed(t)
	b.person("gardener", `{"project": "default"}`, "write", "git")
	b.register("gardener", "default", "fleet", "git", "http://127.0.0.1:1/fleet")
	b.must("GlobalServices/Apply", `{"name": "agent", "settings": {"tags": {"no": "cluster"}}, "spec": {"repository": "fleet", "git": {"ref": "main"}}}`)
	if status, message := b.move("gardener", "fleet"); status != http.StatusForbidden {
		t.Errorf("by who may change the project: %d: %s", status, message)
	}
	if status, message := b.move("admin", "fleet"); status != http.StatusOK {
		t.Errorf("by an administrator: %d: %s", status, message)
	}
	status, answer := b.as("admin", "Repositories/Delete", `{"name": "fleet"}`)
	if message := fmt.Sprint(answer["message"]); status != http.StatusConflict || !strings.Contains(message, "global service agent") {
		t.Errorf("deleting it: %d: %s", status, message)
	}
	b.must("GlobalServices/Apply", `{"name": "agent", "settings": {"tags": {"no": "cluster"}}, "spec": {"helm": {"url": "http://127.0.0.1:1/charts", "chart": "web"}}}`)
	b.must("Repositories/Delete", `{"name": "fleet"}`)
}

// A URL that an older hub found in another project stays bound, is listed as at risk, and
// needs the right once it changes.
func TestAURLFoundInAnotherProjectIsAtRisk(t *testing.T) {
	t.Parallel()
	b := guarded(t)
	const url = "http://127.0.0.1:1/shared"
	b.ok("reader", "Services/Create", `{"ref": {"cluster": "edge-shop", "name": "web"}, "spec": {"repository": "shared", "git": {"ref": "main"}}}`)
	b.must("Services/Create", `{"ref": {"cluster": "edge-shop", "name": "by-name"}, "spec": {"repository": "shared", "git": {"ref": "main"}}}`)
	at := fleet.Ref{Cluster: "edge-shop", Name: "web"}
	err := b.Parts().Store.Write(t.Context(), func(ctx context.Context) error {
		s, err := b.Parts().Store.ServiceByRef(ctx, at)
		if err != nil {
			return err
		}
		s.Spec.Repository, s.Spec.Git.URL = "", url
		return b.Parts().Store.UpdateService(ctx, s)
	})
	if err != nil {
		t.Fatal(err)
	}
	risks := func() (sources []string) {
		all, _ := b.must("Hub/AtRisk", `{}`)["risks"].([]any)
		for _, one := range all {
			if risk := one.(map[string]any); risk["kind"] == "source" {
				sources = append(sources, fmt.Sprint(risk["object"], ": ", risk["why"]))
			}
		}
		return sources
	}
	if have := risks(); len(have) != 1 || !strings.HasPrefix(have[0], "service edge-shop/web: its field git.url names the URL "+url+" and follows repository shared") {
		t.Errorf("at risk: %q", have)
	}
	apply := func(who, folder string) int {
		status, _ := b.as(who, "Services/Apply", fmt.Sprintf(`{"ref": {"cluster": "edge-shop", "name": "web"}, "spec": {"git": {"url": %q, "ref": "main", "folder": %q}}}`, url, folder))
		return status
	}
	repository := func() string { return b.source("edge-shop", "web", "repository") }
	if status := apply("owner", ""); status != http.StatusOK || repository() != "shared" {
		t.Errorf("as it is, by who may not read the repository: %d, follows %s", status, repository())
	}
	if status := apply("owner", "web"); status != http.StatusBadRequest {
		t.Errorf("changed, by who may not read the repository: %d", status)
	}
	if status := apply("reader", "web"); status != http.StatusOK || repository() != "shared" {
		t.Errorf("changed, by who may: %d, follows %s", status, repository())
	}
	b.register("owner", "shop", "ours", "git", url)
	if status := apply("owner", "web"); status != http.StatusOK || repository() != "ours" {
		t.Errorf("registered in the project, and applied as it is: %d, follows %s", status, repository())
	}
	if left := risks(); left != nil {
		t.Errorf("at risk after that: %v", left)
	}
}
