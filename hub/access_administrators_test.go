package hub_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/identity/agentkey"
	"github.com/axle-cd/axle/internal/eventually"
)

// trespasses are what a person with every action that bindings give tries on the hub's own
// cluster and on what lies in its project.
var trespasses = []struct{ call, request string }{
	{"Projects/Get", `{"name": "axle-system"}`},
	{"Clusters/Get", `{"name": "mgmt"}`},
	{"Clusters/Update", `{"name": "mgmt", "metadata": "{}", "setMetadata": true}`},
	{"Clusters/Move", `{"name": "mgmt", "project": "default"}`},
	{"Clusters/Move", `{"name": "edge-lab", "project": "axle-system"}`},
	{"Clusters/Create", `{"name": "mine", "project": "axle-system"}`},
	{"Clusters/Create", `{"name": "mgmt", "renewToken": true}`},
	{"Clusters/Enrollment", `{"name": "mgmt"}`},
	{"ClusterAPI/CreateCredential", `{"cluster": "mgmt"}`},
	{"ClusterAPI/CreateTicket", `{"cluster": "mgmt"}`},
	{"ClusterAPI/ListObjects", `{"objects": {"cluster": "mgmt", "version": "v1", "resource": "secrets", "namespace": "axle"}}`},
	{"Services/Get", `{"ref": {"cluster": "mgmt", "name": "web"}}`},
	{"Services/Create", service("mgmt", "mine", "repo-lab")},
	{"Services/Apply", service("mgmt", "web", "repo-lab")},
	{"Services/Update", `{"ref": {"cluster": "mgmt", "name": "web"}, "fields": ["namespace"], "spec": {"namespace": "kube-system"}}`},
	{"Services/Rollback", `{"ref": {"cluster": "mgmt", "name": "web"}}`},
	{"Services/Delete", `{"ref": {"cluster": "mgmt", "name": "web"}}`},
	{"Services/Apply", strings.TrimSuffix(service("edge-lab", "web", "repo-lab"), "}") + `, "project": "axle-system"}`},
	{"Repositories/Get", `{"name": "repo-mgmt"}`},
	{"Repositories/Update", `{"name": "repo-mgmt", "options": {}}`},
	{"Contexts/Get", `{"name": "ctx-mgmt"}`},
	{"GlobalServices/Get", `{"name": "global-mgmt"}`},
	{"GlobalServices/Apply", globalService("global-mgmt", "axle-system")},
	{"Tokens/CreateBootstrap", `{"project": "axle-system"}`},
}

// bound makes a person with every action that bindings give, at places.
func (b *tableBed) bound(who string, places ...string) {
	b.t.Helper()
	made := b.must("Users/Create", fmt.Sprintf(`{"email": "%s@example.com", "tokenScopes": ["admin"]}`, who))
	b.bearers[who] = made["token"].(string)
	for _, place := range places {
		b.must("Bindings/Create", fmt.Sprintf(`{"subjectKind": "user", "subject": "%s@example.com", "actions": ["read", "write", "create", "git"], "place": %s}`, who, place))
	}
}

// names returns the names in a list's answer.
func names(answer map[string]any, list string) (all []string) {
	items, _ := answer[list].([]any)
	for _, item := range items {
		name, _ := item.(map[string]any)["name"].(string)
		all = append(all, name)
	}
	return all
}

// TestBindingsGiveNothingInAProjectOfAdministrators tries everything there with bindings of
// the whole hub, and with bindings of the project, the cluster and the service themselves.
func TestBindingsGiveNothingInAProjectOfAdministrators(t *testing.T) {
	b := newTableBed(t)
	made := b.must("Projects/Create", `{"name": "axle-system", "administratorsOnly": true}`)
	if made["administratorsOnly"] != true {
		t.Fatalf("the project is %v", made)
	}
	b.must("Clusters/Create", `{"name": "mgmt", "project": "axle-system"}`)
	b.must("Repositories/Create", `{"name": "repo-mgmt", "project": "axle-system", "url": "http://127.0.0.1:1/mgmt"}`)
	b.must("Contexts/Create", `{"context": {"name": "ctx-mgmt", "project": "axle-system", "values": "{}"}}`)
	b.must("Services/Create", service("mgmt", "web", "repo-mgmt"))
	b.must("GlobalServices/Apply", `{"name": "global-mgmt", "settings": {"project": "axle-system"}, "spec": {"repository": "repo-mgmt", "git": {"ref": "main"}}}`)
	b.bound("hubwide", `{}`)
	b.bound("there", `{"project": "lab"}`, `{"project": "axle-system"}`, `{"cluster": "mgmt"}`, `{"cluster": "mgmt", "service": "web"}`)
	for _, who := range []string{"hubwide", "there"} {
		for _, try := range trespasses {
			if status, answer := b.as(who, try.call, try.request); status != http.StatusNotFound && status != http.StatusForbidden && status != http.StatusConflict {
				t.Errorf("%s by %s: %d, %v", try.call, who, status, answer)
			}
		}
		if status, _ := b.send(who, http.MethodGet, "/k8s/clusters/mgmt/api/v1/namespaces/axle/secrets", "", nil); status != http.StatusNotFound {
			t.Errorf("the API of mgmt for %s: %d", who, status)
		}
		for list, call := range map[string]string{"projects": "Projects/List", "clusters": "Clusters/List", "services": "Services/List", "repositories": "Repositories/List", "contexts": "Contexts/List", "globalServices": "GlobalServices/List"} {
			_, answer := b.as(who, call, `{}`)
			if text, _ := json.Marshal(answer); strings.Contains(string(text), "mgmt") || strings.Contains(string(text), "axle-system") {
				t.Errorf("%s shows %s: %s", call, who, text)
			}
			if len(names(answer, list)) == 0 {
				t.Errorf("%s shows %s nothing of their own", call, who)
			}
		}
		for _, call := range []string{"Fleet/QueryClusters", "Fleet/QueryServices", "Fleet/NeedsYou", "Fleet/Search"} {
			request := `{}`
			if call == "Fleet/Search" {
				request = `{"query": "mgmt"}`
			}
			if _, answer := b.as(who, call, request); strings.Contains(fmt.Sprint(answer), "mgmt") {
				t.Errorf("%s shows %s: %v", call, who, answer)
			}
		}
	}
	_, answer := b.as("hubwide", "Events/List", `{"limit": 1000}`)
	objects := map[any]bool{}
	for _, e := range answer["events"].([]any) {
		objects[e.(map[string]any)["object"]] = true
	}
	if objects["service mgmt/web"] || objects["cluster mgmt"] || !objects["service edge-lab/web"] || !objects["project lab"] {
		t.Errorf("events for who reads the whole hub: %v", objects)
	}
	for _, try := range trespasses[1:3] {
		b.must(try.call, try.request)
	}
	if _, answer := b.as("admin", "Clusters/List", `{}`); !slices.Contains(names(answer, "clusters"), "mgmt") {
		t.Error("an administrator does not see mgmt")
	}
}

// TestWhatAnAdministratorsServiceBroughtNamesIt: the operator declares what a root service on
// the hub's own cluster applied there, with the root's id, and may not read the root.
func TestWhatAnAdministratorsServiceBroughtNamesIt(t *testing.T) {
	b := newTableBed(t)
	b.must("Projects/Create", `{"name": "axle-system", "administratorsOnly": true}`)
	b.must("Clusters/Create", `{"name": "mgmt", "project": "axle-system"}`)
	id := func(answer map[string]any) any { return answer["id"] }
	root := id(b.must("Services/Create", service("mgmt", "root", "repo-lab")))
	hidden := id(b.must("Services/Get", `{"ref": {"cluster": "edge-shop", "name": "web"}}`))
	b.bound("operator", `{"project": "lab"}`)
	under := func(parent any) (int, map[string]any) {
		return b.as("operator", "Services/Apply", strings.TrimSuffix(service("edge-lab", "child", "repo-lab"), "}")+fmt.Sprintf(`, "parentId": %q}`, parent))
	}
	if status, answer := under(hidden); status != http.StatusBadRequest {
		t.Errorf("under a service that may not be read: %d %v", status, answer)
	}
	if status, answer := under(root); status != http.StatusOK || strings.Contains(fmt.Sprint(answer), "mgmt") {
		t.Errorf("under the root: %d %v", status, answer)
	}
	if status, answer := b.as("operator", "Services/Get", `{"ref": {"cluster": "mgmt", "name": "root"}}`); status != http.StatusNotFound {
		t.Errorf("the root is shown: %d %v", status, answer)
	}
}

// TestGlobalServicesLeaveAdministratorsClustersAlone: who may write a global service of the
// whole hub would otherwise deliver to the hub's own cluster.
func TestGlobalServicesLeaveAdministratorsClustersAlone(t *testing.T) {
	b := newTableBed(t)
	b.must("Projects/Create", `{"name": "axle-system", "administratorsOnly": true}`)
	b.must("Clusters/Create", `{"name": "mgmt", "project": "axle-system"}`)
	b.must("GlobalServices/Apply", `{"name": "own", "settings": {"project": "axle-system"}, "spec": {"repository": "repo-lab", "git": {"ref": "main"}}}`)
	b.bound("hubwide", `{}`)
	if status, answer := b.as("hubwide", "GlobalServices/Apply", `{"name": "everywhere", "spec": {"repository": "repo-lab", "git": {"ref": "main"}}}`); status != http.StatusOK {
		t.Fatalf("a global service of the whole hub: %d, %v", status, answer)
	}
	eventually.For(t, tableLimit, "the global services are made", func() error {
		for cluster, name := range map[string]string{"mgmt": "own", "edge-lab": "everywhere"} {
			if status, answer := b.as("admin", "Services/Get", fmt.Sprintf(`{"ref": {"cluster": %q, "name": %q}}`, cluster, name)); status != http.StatusOK {
				return fmt.Errorf("%s/%s: %d, %v", cluster, name, status, answer)
			}
		}
		return nil
	})
	if status, _ := b.as("admin", "Services/Get", `{"ref": {"cluster": "mgmt", "name": "everywhere"}}`); status != http.StatusNotFound {
		t.Errorf("mgmt has the service of who is no administrator: %d", status)
	}
}

// enrol registers an agent with a bootstrap token.
func (b *tableBed) enrol(token string) error {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	_, err = b.Parts().AgentKeys.Register(b.t.Context(), token, agentkey.Registration{
		PublicKey: public, ClusterUID: "uid-mgmt", BootID: "boot-1", AgentVersion: "v0", Proof: ed25519.Sign(private, []byte("axle-register\nuid-mgmt\nboot-1")),
	})
	return err
}

// kinds counts the changes of a move by kind, and returns the objects that it deletes.
func kinds(answer map[string]any) (count map[string]int, deletes []string) {
	count = map[string]int{}
	for _, c := range answer["changes"].([]any) {
		change := c.(map[string]any)
		count[change["kind"].(string)]++
		if change["deletes"] == true {
			deletes = append(deletes, change["object"].(string))
		}
	}
	return count, deletes
}

// TestAHubOfBeforeKeepsItsClusterUntilItMoves: an upgrade takes nothing from anybody, the
// risk is shown, and the move ends it.
func TestAHubOfBeforeKeepsItsClusterUntilItMoves(t *testing.T) {
	b := newTableBed(t)
	token := b.must("Clusters/Create", `{"name": "mgmt"}`)["bootstrapToken"].(string)
	if err := b.enrol(token); err != nil {
		t.Fatal(err)
	}
	b.must("Repositories/Create", `{"name": "repo-default", "url": "http://127.0.0.1:1/default"}`)
	b.must("Services/Create", service("mgmt", "web", "repo-default"))
	b.must("Services/Create", strings.TrimSuffix(service("mgmt", "guest", "repo-lab"), "}")+`, "project": "lab"}`)
	b.must("GlobalServices/Apply", `{"name": "of-default", "settings": {"project": "default", "cascade": "delete"}, "spec": {"repository": "repo-default", "git": {"ref": "main"}}}`)
	b.bound("keeper", `{"project": "default"}`)
	eventually.For(t, tableLimit, "the global service is made", func() error {
		if status, answer := b.as("keeper", "Services/Get", `{"ref": {"cluster": "mgmt", "name": "of-default"}}`); status != http.StatusOK {
			return fmt.Errorf("%d, %v", status, answer)
		}
		return nil
	})
	credential := func() int {
		status, _ := b.as("keeper", "ClusterAPI/CreateCredential", `{"cluster": "mgmt"}`)
		return status
	}
	if credential() != http.StatusOK {
		t.Error("the writer of the project default cannot use its cluster any more")
	}
	risks := func() string { return fmt.Sprint(b.must("Hub/AtRisk", `{}`)["risks"]) }
	const command = "axle projects create axle-system --administrators-only && axle clusters move mgmt --project axle-system --plan"
	if have := risks(); !strings.Contains(have, command) {
		t.Errorf("the list has no risk: %s", have)
	}
	if needs := b.must("Fleet/NeedsYou", `{}`); !strings.Contains(fmt.Sprint(needs), command) {
		t.Errorf("the console shows no risk: %v", needs)
	}
	if _, needs := b.as("keeper", "Fleet/NeedsYou", `{}`); strings.Contains(fmt.Sprint(needs), "hub_cluster") {
		t.Errorf("the risk is shown to who it comes from: %v", needs)
	}
	status, renewed := b.as("keeper", "Clusters/Create", `{"name": "mgmt", "renewToken": true}`)
	if status != http.StatusOK {
		t.Fatalf("a new token: %d, %v", status, renewed)
	}

	b.must("Projects/Create", `{"name": "axle-system", "administratorsOnly": true}`)
	plan := b.must("Clusters/Move", `{"name": "mgmt", "project": "axle-system", "plan": true}`)
	count, deletes := kinds(plan)
	if count["service"] != 1 || count["stays"] != 1 || count["global_service"] != 1 || count["binding"] != 4 || count["token"] != 1 || !slices.Equal(deletes, []string{"global service of-default"}) {
		t.Errorf("the plan has %v and deletes %v: %v", count, deletes, plan)
	}
	if plan["cluster"].(map[string]any)["project"] != "default" || credential() != http.StatusOK {
		t.Error("the plan moved the cluster")
	}
	if status, answer := b.as("admin", "Clusters/Move", `{"name": "mgmt", "project": "axle-system"}`); status != http.StatusConflict || !strings.Contains(fmt.Sprint(answer), "--confirm") {
		t.Errorf("a move that deletes: %d, %v", status, answer)
	}
	moved := b.must("Clusters/Move", `{"name": "mgmt", "project": "axle-system", "confirm": true}`)
	if again, _ := kinds(moved); fmt.Sprint(again) != fmt.Sprint(count) {
		t.Errorf("the move did %v, the plan said %v", again, count)
	}
	for name, project := range map[string]string{"web": "axle-system", "guest": "lab"} {
		request := fmt.Sprintf(`{"ref": {"cluster": "mgmt", "name": %q}}`, name)
		if have := b.must("Services/Get", request); have["project"] != project {
			t.Errorf("service %s is in project %v", name, have["project"])
		}
		if status, _ := b.as("keeper", "Services/Get", request); status != http.StatusNotFound {
			t.Errorf("service %s for the writer of before: %d", name, status)
		}
	}
	if got := credential(); got != http.StatusNotFound {
		t.Errorf("the writer of before can use the cluster still: %d", got)
	}
	if err := b.enrol(renewed["bootstrapToken"].(string)); err == nil {
		t.Error("a token of before registers an agent")
	}
	if have := risks(); strings.Contains(have, "hub_cluster") {
		t.Errorf("the list has the risk still: %s", have)
	}
	eventually.For(t, tableLimit, "the global service leaves the cluster", func() error {
		_, answer := b.as("admin", "Services/Get", `{"ref": {"cluster": "mgmt", "name": "of-default"}}`)
		if answer["deleting"] == nil && answer["code"] != "not_found" {
			return fmt.Errorf("it is %v", answer)
		}
		return nil
	})
}
