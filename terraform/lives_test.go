package terraform_test

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/terraform"
)

// life is what TestExamples does with one kind of resource beside what is the same for
// all: which change makes another object, and which call deletes it behind Terraform's
// back. A kind without one fails TestEveryResourceHasALife.
type life struct {
	kind string
	// example is its name in the examples.
	example string
	// replace is an attribute with a value that makes another object.
	replace string
	// vanish is the call that deletes it, with a request whose {attributes} are those of
	// the state.
	vanish, request string
	// alone is set if nothing else is gone with it, so that it vanishes by itself first.
	// alike is what then is planned, create if it is empty.
	alone bool
	alike string
	// never says why nothing makes another one, or deletes it. Then replace is an update.
	never string
}

const byName = `{"name": "{name}", "management": {"takeOver": true}}`

// lives are in an order in which the hub deletes them: what uses others comes first.
var lives = []life{
	{kind: "cluster_template", example: "eks", replace: `name = "eks-2"`, vanish: "ClusterTemplates/Delete", request: byName, alone: true},
	{kind: "custom_compatibility_matrix", example: "edge_proxy", replace: `name = "edge-proxy-2"`, vanish: "CustomCompatibilityMatrices/Delete", request: byName, alone: true},
	{kind: "telemetry_source", example: "edge_1_metrics", replace: `name = "edge-1-metrics-2"`, vanish: "TelemetrySources/Delete", request: byName, alone: true},
	{kind: "application", example: "wiki", replace: `name = "wiki-2"`, vanish: "Applications/Delete", request: byName, alone: true},
	{kind: "notification_router", example: "ops", replace: `name = "ops-2"`, vanish: "NotificationRouters/Delete", request: byName, alone: true},
	{kind: "notification_sink", example: "ops", replace: `name = "ops-2"`, vanish: "NotificationSinks/Delete", request: byName},
	{kind: "webhook", example: "fleet", replace: `name = "fleet-2"`, vanish: "Webhooks/Delete", request: byName, alone: true},
	{kind: "service", example: "web", replace: `name = "shop"`, vanish: "Services/Delete", request: `{"ref": {"cluster": "{cluster}", "name": "{name}"}, "management": {"takeOver": true}}`, alone: true},
	{kind: "service", example: "cache", replace: `name = "redis"`, vanish: "Services/Delete", request: `{"ref": {"cluster": "{cluster}", "name": "{name}"}, "management": {"takeOver": true}}`},
	{kind: "global_service", example: "metrics", replace: `name = "metrics-2"`, vanish: "GlobalServices/Delete", request: byName, alone: true},
	{kind: "managed_namespace", example: "team", replace: `name = "team-b"`, vanish: "ManagedNamespaces/Delete", request: byName, alone: true},
	{kind: "service_context", example: "shop", replace: `name = "shop-2"`, vanish: "Contexts/Delete", request: byName},
	{kind: "outputs", example: "network", replace: `name = "network-2"`, vanish: "Outputs/Delete", request: byName, alone: true},
	{kind: "login_provider", example: "company", replace: `name = "company-2"`, vanish: "Providers/Delete", request: byName, alone: true},
	{kind: "federation_trust", example: "github", replace: `audience = "https://hub.example.com"`, vanish: "Federation/Delete", request: byName, alone: true},
	{kind: "access_binding", example: "sre", replace: `project = axle_project.other.name`, vanish: "Bindings/Delete", request: `{"subjectKind": "group", "subject": "{subject}", "actions": ["read", "git"], "place": {"project": "{project}"}, "management": {"takeOver": true}}`, alone: true},
	{kind: "group_member", example: "ann", replace: `user = axle_service_account.ci.name`, vanish: "Groups/RemoveMember", request: `{"group": "{group}", "user": "{user}", "management": {"takeOver": true}}`, alone: true},
	{kind: "admin_grant", example: "ann", replace: `user = axle_service_account.ci.name`, vanish: "Users/SetAdmin", request: `{"name": "{user}", "management": {"takeOver": true}}`, alone: true},
	{kind: "group", example: "sre", replace: `description = "On call"`, vanish: "Groups/Delete", request: byName},
	{kind: "user", example: "ann", replace: `email = "anne@example.com"`, vanish: "Users/Delete", request: `{"name": "{email}", "management": {"takeOver": true}}`},
	{kind: "service_account", example: "ci", replace: `name = "jobs"`, vanish: "ServiceAccounts/Delete", request: byName},
	{kind: "cluster", example: "edge", replace: `name = "edge-2"`, vanish: "Clusters/Delete", request: byName},
	{kind: "repository", example: "fleet", replace: `name = "fleet-2"`, vanish: "Repositories/Delete", request: byName},
	{kind: "repository", example: "charts", replace: `name = "charts-2"`, vanish: "Repositories/Delete", request: byName},
	{kind: "repository", example: "platform", replace: `name = "platform-2"`, vanish: "Repositories/Delete", request: byName},
	// Limits are a part of their project: without them, there is another object to change.
	{kind: "project_limits", example: "shop", replace: `project = axle_project.other.name`, vanish: "Projects/Update", request: `{"name": "{project}", "limits": {}, "management": {"takeOver": true}}`, alone: true, alike: "update"},
	{kind: "project", example: "shop", replace: `name = "store"`, vanish: "Projects/Delete", request: byName},
	{kind: "hub_settings", example: "this", replace: `sync_windows = [{ kind = "deny", schedule = "0 0 1 1 *", duration = "24h" }]`, vanish: "Hub/SetSyncWindows", request: `{"management": {"takeOver": true}}`, alone: true, alike: "update", never: "there is one of it: others can only change it"},
	{kind: "agent_upgrade", example: "fleet", never: "there is one of it, and the hub always has a version for the agents"},
	{kind: "service_wait", never: "it is no object of the hub; TestFleet replaces it"},
}

// TestEveryResourceHasALife fails for a kind that TestExamples would not replace and let
// vanish.
func TestEveryResourceHasALife(t *testing.T) {
	kinds := terraform.ResourceNames(t.Context())
	for _, kind := range kinds {
		i := slices.IndexFunc(lives, func(l life) bool { return l.kind == kind })
		if i < 0 {
			t.Errorf("axle_%s has no row in lives: nothing tests that it is replaced, and that it vanishes", kind)
		}
	}
	for _, l := range lives {
		if !slices.Contains(kinds, l.kind) {
			t.Errorf("lives has the kind %s, which is no resource", l.kind)
		}
		if (l.replace == "" || l.vanish == "") && l.never == "" {
			t.Errorf("the row of %s.%s says neither what to do nor why not", l.kind, l.example)
		}
	}
}

func (l life) address() string { return "axle_" + l.kind + "." + l.example }

// replacements are the overrides of all lives, and what a plan does with them.
func replacements() (text string, want map[string]string) {
	var b strings.Builder
	want = map[string]string{}
	for _, l := range lives {
		if l.replace != "" {
			fmt.Fprintf(&b, "resource %q %q {\n  %s\n}\n", "axle_"+l.kind, l.example, l.replace)
			if want[l.address()] = "delete+create"; l.never != "" {
				want[l.address()] = "update"
			}
		}
	}
	return b.String(), want
}

// replaces wants that the attribute of each row is a reason of its replacement, in the
// plan that was made last.
func (w *workspace) replaces() {
	w.t.Helper()
	var shown struct {
		Changes []struct {
			Address string `json:"address"`
			Change  struct {
				Paths [][]any `json:"replace_paths"`
			} `json:"change"`
		} `json:"resource_changes"`
	}
	w.show(&shown, "plan.bin")
	reasons := map[string]string{}
	for _, c := range shown.Changes {
		reasons[c.Address] = fmt.Sprint(c.Change.Paths)
	}
	for _, l := range lives {
		attribute, _, _ := strings.Cut(l.replace, " ")
		if l.replace != "" && l.never == "" && !strings.Contains(reasons[l.address()], "["+attribute+"]") {
			w.t.Errorf("%s is replaced for %s, and not for %s", l.address(), reasons[l.address()], attribute)
		}
	}
}

// vanish deletes objects behind Terraform's back, those that go alone or all, and returns
// what then is planned.
func (w *workspace) vanish(h *hubtest.Hub, all bool) map[string]string {
	w.t.Helper()
	state := w.values()
	want := map[string]string{}
	for _, l := range lives {
		if l.vanish == "" || !all && !l.alone {
			continue
		}
		request := l.request
		for name, value := range state[l.address()] {
			request = strings.ReplaceAll(request, "{"+name+"}", fmt.Sprint(value))
		}
		// A cluster first loses the services that were deleted from it.
		eventually.For(w.t, 30*time.Second, "the hub deletes "+l.address(), func() error { return post(w.t, h, l.vanish, request) })
		want[l.address()] = cmp.Or(l.alike, "create")
	}
	return want
}

// post makes a call of the hub's API with a request in JSON.
func post(t *testing.T, h *hubtest.Hub, call, body string) error {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL+"/axle.hub.v1."+call, bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+h.AdminToken)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s: %s", call, body, answer.Status, text)
	}
	return err
}

// values are the objects in the state, by address.
func (w *workspace) values() map[string]map[string]any {
	w.t.Helper()
	var shown struct {
		Values struct {
			Root struct {
				Resources []struct {
					Address string         `json:"address"`
					Values  map[string]any `json:"values"`
				} `json:"resources"`
			} `json:"root_module"`
		} `json:"values"`
	}
	w.show(&shown)
	out := map[string]map[string]any{}
	for _, r := range shown.Values.Root.Resources {
		out[r.Address] = r.Values
	}
	return out
}
