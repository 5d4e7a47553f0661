package hub_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/eventually"
)

// A name is one thing: what the hub or an administrator gives no writer takes, and what
// names one cluster names no other. {who} is the caller.
func TestNamesOfOthersAreNotTaken(t *testing.T) {
	b := newTableBed(t)
	const ok, refused, taken, invalid = http.StatusOK, http.StatusForbidden, http.StatusConflict, http.StatusBadRequest
	b.must("Clusters/Create", `{"name": "long-lab", "handle": "ll", "project": "lab", "tags": {"tier": "prod"}}`)
	b.must("Clusters/Create", `{"name": "gone-lab", "handle": "gl", "project": "lab"}`)
	b.must("Clusters/Delete", `{"name": "gone-lab"}`)
	b.must("Clusters/Create", `{"name": "own-shop", "project": "shop", "tags": {"tier": "dev", "team": "a"}}`)
	for name, test := range map[string]struct {
		call, request string
		want          map[string]int
	}{
		"a name that is another's handle": {"Clusters/Create", `{"name": "ll", "project": "shop"}`, map[string]int{"writer": taken, "admin": taken}},
		"a name that is another's":        {"Clusters/Create", `{"name": "edge-lab", "project": "shop"}`, map[string]int{"writer": taken}},
		"a handle that is another's name": {"Clusters/Create", `{"name": "fresh-{who}", "handle": "long-lab", "project": "shop"}`, map[string]int{"writer": taken, "admin": taken}},
		"a handle that is another's":      {"Clusters/Create", `{"name": "fresh-{who}", "handle": "ll", "project": "shop"}`, map[string]int{"writer": taken}},
		"another's name later":            {"Clusters/Update", `{"name": "edge-shop", "handle": "long-lab"}`, map[string]int{"writer": taken, "admin": taken}},
		"another's handle later":          {"Clusters/Update", `{"name": "edge-shop", "handle": "ll"}`, map[string]int{"writer": taken}},
		"one's own name":                  {"Clusters/Update", `{"name": "edge-shop", "handle": "edge-shop"}`, map[string]int{"writer": ok}},
		"a new handle":                    {"Clusters/Update", `{"name": "own-shop", "handle": "os"}`, map[string]int{"writer": ok}},
		"the name of what is gone":        {"Clusters/Create", `{"name": "gone-lab", "project": "shop"}`, map[string]int{"writer": ok}},
		"the handle of what is gone":      {"Clusters/Update", `{"name": "move-shop", "handle": "gl"}`, map[string]int{"writer": ok}},
		"the hub's own cluster":           {"Clusters/Create", `{"name": "mgmt", "project": "shop"}`, map[string]int{"writer": refused}},
		"the hub's own cluster, handle":   {"Clusters/Create", `{"name": "mine-{who}", "handle": "mgmt", "project": "shop"}`, map[string]int{"writer": refused}},
		"the hub's own cluster, later":    {"Clusters/Update", `{"name": "edge-shop", "handle": "mgmt"}`, map[string]int{"writer": refused, "admin-r": refused}},

		"an administrator's tag changed":   {"Clusters/Update", `{"name": "own-shop", "setTags": true, "tags": {"tier": "prod", "team": "a"}}`, map[string]int{"writer": refused}},
		"an administrator's tag taken off": {"Clusters/Update", `{"name": "own-shop", "setTags": true, "tags": {"team": "a"}}`, map[string]int{"writer": refused}},
		"a tag beside it":                  {"Clusters/Update", `{"name": "own-shop", "setTags": true, "tags": {"tier": "dev", "team": "a", "color": "red"}}`, map[string]int{"writer": ok}},

		"a group of Kubernetes":     {"Groups/Create", `{"name": "system:masters"}`, map[string]int{"admin": invalid}},
		"a group of kubeadm":        {"Groups/Create", `{"name": "kubeadm:cluster-admins"}`, map[string]int{"admin": invalid}},
		"a group of EKS":            {"Groups/Create", `{"name": "eks:node-manager"}`, map[string]int{"admin": invalid}},
		"a group of GKE":            {"Groups/Create", `{"name": "GKE-security: x"}`, map[string]int{"admin": invalid}},
		"a group of another login":  {"Groups/Create", `{"name": "oidc:platform"}`, map[string]int{"admin": invalid}},
		"a group of the hub":        {"Groups/Create", `{"name": "axle:admins"}`, map[string]int{"admin": invalid}},
		"a group":                   {"Groups/Create", `{"name": "acme/platform@example.com"}`, map[string]int{"admin": ok}},
		"a user with a colon":       {"Users/Create", `{"email": "kubeadm:cluster-admins@example.com"}`, map[string]int{"admin": invalid}},
		"a service account's colon": {"ServiceAccounts/Create", `{"name": "kubeadm:cluster-admins"}`, map[string]int{"admin": invalid}},

		"a service of the hub": {"Services/Create", service("edge-shop", "axle-agent", "repo-shop"), map[string]int{"writer": invalid, "admin": invalid}},
		"a global one of it":   {"GlobalServices/Apply", globalService("axle-agent", "shop"), map[string]int{"writer": invalid, "admin": invalid}},
	} {
		if strings.Contains(test.request, "move-shop") {
			b.must("Clusters/Create", `{"name": "move-shop", "project": "shop"}`)
		}
		for who, want := range test.want {
			if status, answer := b.as(who, test.call, test.request); status != want {
				t.Errorf("%s by %s: %d, want %d: %v", name, who, status, want, answer["message"])
			}
		}
	}
	// Who may write the whole hub may write global services of all projects, so their tags
	// count: the operator has such a binding.
	made := b.must("Users/Create", `{"email": "operator@example.com", "tokenScopes": ["write"]}`)
	b.bearers["operator"] = made["token"].(string)
	b.must("Bindings/Create", `{"subjectKind": "user", "subject": "operator@example.com", "actions": ["write"], "place": {"global": true}}`)
	for who, want := range map[string]string{"operator": "<nil>", "admin-w": "<nil>", "writer": "[tier]"} {
		status, answer := b.as(who, "Clusters/Create", `{"name": "of-{who}", "project": "shop", "tags": {"tier": "dev"}}`)
		if cluster, _ := answer["cluster"].(map[string]any); status != ok || fmt.Sprint(cluster["uncountedTags"]) != want {
			t.Errorf("a cluster of %s: %d, %v", who, status, answer)
		}
	}
	if all := b.must("Clusters/Get", `{"name": "own-shop"}`); fmt.Sprint(all["uncountedTags"]) != "[color]" {
		t.Errorf("the tags that do not count are %v of %v", all["uncountedTags"], all["tags"])
	}
}

// A tenant's service with the name of a managed namespace's is left as it is, and the
// namespace says on which cluster it is in the way.
func TestANamespaceSaysWhoseServiceIsInItsWay(t *testing.T) {
	b := newTableBed(t)
	b.must("Clusters/Create", `{"name": "own-shop", "project": "shop"}`)
	commit := strings.Repeat("0", 39) + "1"
	theirs := strings.Replace(service("own-shop", "team-ns", "repo-shop"), `"ref": "main"`, `"ref": "`+commit+`"`, 1)
	if status, answer := b.as("writer", "Services/Create", theirs); status != http.StatusOK {
		t.Fatalf("%d: %v", status, answer)
	}
	b.must("ManagedNamespaces/Apply", `{"name": "team", "settings": {"project": "shop"}}`)
	eventually.For(t, tableLimit, "the namespace names the cluster", func() error {
		answer := b.must("ManagedNamespaces/Get", `{"name": "team"}`)
		if text := fmt.Sprint(answer["state"]); !strings.Contains(text, "own-shop") || !strings.Contains(text, "team-ns") {
			return fmt.Errorf("it says %s", text)
		}
		return nil
	})
	if s := b.must("Services/Get", `{"ref": {"cluster": "own-shop", "name": "team-ns"}}`); s["managedBy"].(map[string]any)["tool"] == "hub" {
		t.Errorf("it was taken over: %v", s)
	}
}

// What something names cannot be deleted, so nobody takes its name; what a person, a group
// or an account was given ends with it, and the next one of that name has nothing of it.
func TestNamesOfWhatIsUsedAreNotTaken(t *testing.T) {
	t.Parallel()
	b := newBindingsBed(t)
	const ok, invalid, unknown, refused, hidden, taken = http.StatusOK, http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusConflict
	answers := func(who, call, request string, want int) {
		t.Helper()
		if status, answer := b.as(who, call, request); status != want {
			t.Errorf("%s %s by %s: %d, want %d: %v", call, request, who, status, want, answer["message"])
		}
	}
	b.register("owner", "shop", "own", "git", "http://127.0.0.1:1/own")
	b.register("mallory", "lab", "labs", "git", "http://127.0.0.1:1/labs")

	// Contexts and outputs.
	const context = `{"context": {"name": "ctx", "project": "%s", "values": "{}"}}`
	b.ok("owner", "Contexts/Create", fmt.Sprintf(context, "shop"))
	b.ok("owner", "Services/Apply", `{"ref": {"cluster": "edge-shop", "name": "web"}, "spec": {"repository": "own", "git": {"ref": "main"}, "contexts": ["ctx"]}}`)
	answers("owner", "Contexts/Delete", `{"name": "ctx"}`, taken)
	answers("owner", "Contexts/Update", fmt.Sprintf(context, "lab"), hidden)
	answers("mallory", "Contexts/Create", fmt.Sprintf(context, "lab"), taken)
	answers("mallory", "Contexts/Update", fmt.Sprintf(context, "lab"), hidden)
	answers("mallory", "Services/Apply", `{"ref": {"cluster": "edge-lab", "name": "web"}, "spec": {"repository": "labs", "git": {"ref": "main"}, "contexts": ["ctx"]}}`, invalid)
	b.ok("owner", "Services/Apply", `{"ref": {"cluster": "edge-shop", "name": "web"}, "spec": {"repository": "own", "git": {"ref": "main"}}}`)
	b.ok("owner", "Contexts/Delete", `{"name": "ctx"}`)
	b.ok("mallory", "Contexts/Create", fmt.Sprintf(context, "lab"))
	answers("owner", "Services/Apply", `{"ref": {"cluster": "edge-shop", "name": "web"}, "spec": {"repository": "own", "git": {"ref": "main"}, "contexts": ["ctx"]}}`, invalid)

	// Sinks of routers.
	b.ok("owner", "NotificationSinks/Apply", sink("alerts", "shop"))
	b.ok("owner", "NotificationRouters/Apply", `{"name": "all", "settings": {"project": "shop", "events": ["*"], "sinks": ["alerts"]}}`)
	answers("owner", "NotificationSinks/Delete", `{"name": "alerts"}`, taken)
	answers("mallory", "NotificationSinks/Apply", sink("alerts", "lab"), hidden)
	answers("mallory", "NotificationRouters/Apply", `{"name": "theirs", "settings": {"project": "lab", "events": ["*"], "sinks": ["alerts"]}}`, hidden)

	// A group, and a person.
	const write = `{"ref": {"cluster": "edge-shop", "name": "theirs"}, "spec": {"repository": "own", "git": {"ref": "main"}}}`
	for range 2 {
		b.must("Groups/Create", `{"name": "keepers"}`)
		b.must("Groups/AddMember", `{"group": "keepers", "user": "mallory@example.com"}`)
		answers("mallory", "Services/Apply", write, hidden)
		b.must("Bindings/Create", `{"subjectKind": "group", "subject": "keepers", "actions": ["write"], "place": {"project": "shop"}}`)
		answers("mallory", "Services/Apply", write, ok)
		b.must("Groups/Delete", `{"name": "keepers"}`)
	}
	former := ""
	for range 2 {
		b.person("ann", `{"project": "shop"}`, "read")
		answers("ann", "Services/Apply", write, refused)
		b.must("Bindings/Create", `{"subjectKind": "user", "subject": "ann@example.com", "actions": ["write"], "place": {"project": "shop"}}`)
		answers("ann", "Services/Apply", write, ok)
		b.bearers["former"], former = former, b.bearers["ann"]
		if b.bearers["former"] != "" {
			answers("former", "Sessions/WhoAmI", `{}`, unknown)
		}
		b.must("Users/Delete", `{"name": "ann@example.com"}`)
	}

	// An account, with the trust of a CI and its rights.
	const trust = `{"name": "ci", "issuer": "https://ci.example.com", "audience": "https://axle.example.com", "claims": {"sub": "repo:acme/shop"}, "account": "bot", "scopes": ["write"]}`
	former = ""
	for range 2 {
		b.must("ServiceAccounts/Create", `{"name": "bot"}`)
		if all := b.must("Federation/List", `{}`); all["trusts"] != nil {
			t.Errorf("a new account has the trusts of the one before: %v", all)
		}
		made := b.must("ServiceAccounts/CreateToken", `{"account": "bot", "name": "ci", "scopes": ["write"]}`)
		b.bearers["bot"], _ = made["secret"].(string)
		answers("bot", "Services/Apply", write, refused)
		b.must("Bindings/Create", `{"subjectKind": "service_account", "subject": "bot", "actions": ["write"], "place": {"project": "shop"}}`)
		answers("bot", "Services/Apply", write, ok)
		b.bearers["former"], former = former, b.bearers["bot"]
		if b.bearers["former"] != "" {
			answers("former", "Sessions/WhoAmI", `{}`, unknown)
		}
		b.must("Federation/Create", trust)
		b.must("ServiceAccounts/Delete", `{"name": "bot"}`)
	}
}
