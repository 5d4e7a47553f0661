package hub_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/axle-cd/axle/hub"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/hub/identity/agentkey"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/gitserver"
)

// tableLimit is how long one answer may take on a loaded machine.
const tableLimit = 60 * time.Second

// identities are the columns of testdata/access_table.txt.
var identities = []string{"admin", "admin-w", "admin-r", "writer", "reader", "other", "none", "agent", "revoked"}

// tableRow is what one route answers whom.
type tableRow struct {
	line    int
	route   string
	expects string // a letter for each identity
	request string
}

var gap = regexp.MustCompile(`\s{2,}`)

// readTable reads the rows, written by hand.
func readTable(t *testing.T) []tableRow {
	t.Helper()
	text, err := os.ReadFile("testdata/access_table.txt")
	if err != nil {
		t.Fatal(err)
	}
	var rows []tableRow
	for i, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, ">") {
			continue
		}
		parts := gap.Split(line, 3)
		if len(parts) < 2 {
			t.Fatalf("line %d of the table has no answers: %s", i+1, line)
		}
		row := tableRow{line: i + 1, route: parts[0], expects: strings.ReplaceAll(parts[1], " ", "")}
		if len(row.expects) != len(identities) || strings.Trim(row.expects, "+134>") != "" {
			t.Fatalf("line %d of the table: %q is not one of + 1 3 4 > for each of %v", i+1, parts[1], identities)
		}
		if len(parts) == 3 {
			row.request = parts[2]
		}
		if strings.Contains(line, "{Stored}") || strings.Contains(line, "{InProject}") {
			rows = append(rows, ofStored(row)...)
			continue
		}
		rows = append(rows, row)
	}
	return rows
}

// packages are how rows shorten the names of services.
var packages = []struct{ from, to string }{{"/axle.hub.v1.", ""}, {"/axle.agent.v1.", "agent "}, {"/axle.peer.v1.", "peer "}}

// routesOf lists all that a hub answers, each call of each service by itself.
// Streaming calls map to true.
func routesOf(t *testing.T, h *hubtest.Hub) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, pattern := range h.Routes() {
		name := protoreflect.FullName(strings.Trim(pattern, "/"))
		found, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
		service, ok := found.(protoreflect.ServiceDescriptor)
		if err != nil || !ok {
			if !strings.HasPrefix(pattern, "/axle.") {
				all[pattern] = false
			}
			continue
		}
		for i := range service.Methods().Len() {
			m := service.Methods().Get(i)
			key := "/" + string(name) + "/" + string(m.Name())
			all[short(key)] = m.IsStreamingServer()
		}
	}
	return all
}

func short(procedure string) string {
	for _, p := range packages {
		if rest, ok := strings.CutPrefix(procedure, p.from); ok {
			return p.to + rest
		}
	}
	return procedure
}

func long(route string) string {
	for _, p := range slices.Backward(packages) {
		if rest, ok := strings.CutPrefix(route, p.to); ok {
			return p.from + rest
		}
	}
	return route
}

// tableBed is a hub with two projects, what lies in them, and a bearer for
// each identity.
type tableBed struct {
	*hubtest.Hub
	t       *testing.T
	bearers map[string]string
	ids     map[string]string
	client  *http.Client
}

// as makes one call of the API with JSON and returns its answer.
func (b *tableBed) as(who, procedure, request string) (status int, answer map[string]any) {
	b.t.Helper()
	status, text := b.send(who, http.MethodPost, "/axle.hub.v1."+procedure, "application/json", []byte(b.fill(who, request)))
	answer = map[string]any{}
	if err := json.Unmarshal(text, &answer); err != nil {
		b.t.Fatalf("%s by %s: %d: %s", procedure, who, status, text)
	}
	return status, answer
}

// must is as for what has to work, by the administrator.
func (b *tableBed) must(procedure, request string) map[string]any {
	b.t.Helper()
	status, answer := b.as("admin", procedure, request)
	if status != http.StatusOK {
		b.t.Fatalf("%s %s: %d: %v", procedure, request, status, answer)
	}
	return answer
}

// fill inserts the caller, and ids that only a running hub has.
func (b *tableBed) fill(who, text string) string {
	pairs := []string{"{who}", who}
	for name, id := range b.ids {
		pairs = append(pairs, "{"+name+"}", id, "{"+name+":who}", b.ids[name+":"+who])
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

func (b *tableBed) send(who, method, path, contentType string, body []byte) (int, []byte) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), tableLimit)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, b.URL+path, bytes.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	if bearer := b.bearers[who]; bearer != "" {
		r.Header.Set("Authorization", "Bearer "+bearer)
	}
	answer, err := b.client.Do(r)
	if err != nil {
		b.t.Fatalf("%s %s by %s: %v", method, path, who, err)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err := errors.Join(err, answer.Body.Close()); err != nil && len(text) == 0 {
		b.t.Fatal(err)
	}
	if at := answer.Header.Get("Location"); answer.StatusCode/100 == 3 && strings.HasPrefix(strings.TrimPrefix(at, b.URL), "/login") {
		return toLogin, text
	}
	return answer.StatusCode, text
}

// toLogin represents a redirect to the login page.
const toLogin = 399

func newTableBed(t *testing.T) *tableBed {
	t.Helper()
	git, err := gitserver.Start(t.Context(), gitserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = git.Close() })
	if err := git.Create(t.Context(), "fleet"); err != nil {
		t.Fatal(err)
	}
	h := hubtest.New(t, hubtest.Config{Hub: hub.Config{
		DatabaseURL: hubtest.Postgres(t), KeyFile: filepath.Join(t.TempDir(), "hub.key"), AllowHTTPUpstreams: true,
	}})
	b := &tableBed{
		Hub: h, t: t, bearers: map[string]string{"admin": h.AdminToken}, ids: map[string]string{},
		client: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	b.fleet(git.URL("fleet"))
	b.callers()
	b.targets(git.URL("fleet"))
	return b
}

// fleet makes projects shop and lab, equal but for their names.
func (b *tableBed) fleet(url string) {
	b.must("NotificationSinks/Apply", sink("sink-hub", ""))
	for _, p := range []string{"shop", "lab"} {
		b.must("Projects/Create", fmt.Sprintf(`{"name": %q, "limits": {"clusterScoped": true}}`, p))
		b.must("Clusters/Create", fmt.Sprintf(`{"name": "edge-%[1]s", "project": %[1]q}`, p))
		b.must("Repositories/Create", fmt.Sprintf(`{"name": "repo-%[1]s", "project": %[1]q, "url": %[2]q}`, p, url))
		b.must("Webhooks/Create", fmt.Sprintf(`{"name": "hook-%[1]s", "provider": "github", "repository": "repo-%[1]s"}`, p))
		b.must("Contexts/Create", fmt.Sprintf(`{"context": {"name": "ctx-%[1]s", "project": %[1]q, "values": "{}"}}`, p))
		b.must("Outputs/Put", fmt.Sprintf(`{"outputs": {"name": "out-%[1]s", "project": %[1]q, "values": "{}"}}`, p))
		b.must("GlobalServices/Apply", globalService("global-"+p, p))
		b.must("ManagedNamespaces/Apply", globalService("namespace-"+p, p))
		b.must("NotificationSinks/Apply", sink("sink-"+p, p))
		b.must("NotificationRouters/Apply", router("router-"+p, p))
		for _, name := range []string{"web", "db"} {
			b.must("Services/Create", service("edge-"+p, name, "repo-"+p, `"contexts": ["ctx-`+p+`"]`))
		}
	}
	b.must("Repositories/Create", `{"name": "repo-cloud", "project": "shop", "type": "bucket", "url": "s3://acme", "auth": "aws", "options": {"hubIdentity": true}}`)
	// What is the hub's own, and one service that is a guest. Examples name this repository.
	b.must("Repositories/Create", fmt.Sprintf(`{"name": "fleet", "url": %q}`, url))
	b.stored("stored")
	b.must("Contexts/Create", `{"context": {"name": "ctx-hub", "values": "{}"}}`)
	b.must("Webhooks/Create", `{"name": "hook-hub", "provider": "github"}`)
	b.must("Groups/Create", `{"name": "team"}`)
}

func service(cluster, name, repository string, more ...string) string {
	fields := append([]string{fmt.Sprintf(`"repository": %q, "git": {"ref": "main", "folder": "web"}`, repository)}, more...)
	return fmt.Sprintf(`{"ref": {"cluster": %q, "name": %q}, "spec": {%s}}`, cluster, name, strings.Join(fields, ", "))
}

// sink shows notifications to nobody.
func sink(name, project string) string {
	return fmt.Sprintf(`{"name": %q, "settings": {"type": "PLURAL", "project": %q, "users": ["nobody@example.com"]}}`, name, project)
}

// router sends to the sink of its project.
func router(name, project string) string {
	return fmt.Sprintf(`{"name": %q, "settings": {"project": %q, "events": ["*"], "sinks": ["sink-%[2]s"]}}`, name, project)
}

// globalService is one that selects no cluster, and so is a managed namespace.
func globalService(name, project string) string {
	return fmt.Sprintf(`{"name": %q, "settings": {"project": %q, "tags": {"no": "cluster"}}, "spec": {"repository": "repo-%s", "git": {"ref": "main"}}}`, name, project, project)
}

// callers makes a bearer for each identity.
func (b *tableBed) callers() {
	token := func(scopes string) map[string]any {
		return b.must("Tokens/Create", `{"name": "t", "scopes": [`+scopes+`]}`)
	}
	b.bearers["admin-w"] = token(`"read", "write"`)["secret"].(string)
	b.bearers["admin-r"] = token(`"read"`)["secret"].(string)
	revoked := token(`"admin"`)
	b.bearers["revoked"] = revoked["secret"].(string)
	b.must("Tokens/Revoke", fmt.Sprintf(`{"id": %q}`, revoked["token"].(map[string]any)["id"]))
	for _, p := range []struct{ who, project, actions string }{
		{"writer", "shop", `"write", "git"`}, {"reader", "shop", `"read"`}, {"other", "lab", `"write", "git"`}, {"stranger", "", ""},
	} {
		made := b.must("Users/Create", fmt.Sprintf(`{"email": "%s@example.com", "tokenScopes": ["admin"]}`, p.who))
		b.bearers[p.who] = made["token"].(string)
		if p.project != "" {
			b.must("Bindings/Create", fmt.Sprintf(`{"subjectKind": "user", "subject": "%s@example.com", "actions": [%s], "place": {"project": %q}}`, p.who, p.actions, p.project))
		}
	}
	b.ids["shop-cluster"] = b.must("Clusters/Get", `{"name": "edge-shop"}`)["id"].(string)
	made := b.must("Clusters/Create", `{"name": "edge-shop", "renewToken": true}`)
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		b.t.Fatal(err)
	}
	r, err := b.Parts().AgentKeys.Register(b.t.Context(), made["bootstrapToken"].(string), agentkey.Registration{
		PublicKey: public, ClusterUID: "uid", BootID: "boot-1", AgentVersion: "v0", Proof: ed25519.Sign(private, []byte("axle-register\nuid\nboot-1")),
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.bearers["agent"] = r.DeployToken
}

// targets makes one thing for each identity to delete of each kind, in project
// shop.
func (b *tableBed) targets(url string) {
	for _, who := range identities {
		b.must("Projects/Create", `{"name": "gone-`+who+`"}`)
		b.must("Clusters/Create", `{"name": "gone-`+who+`", "project": "shop"}`)
		b.must("Repositories/Create", fmt.Sprintf(`{"name": "gone-%s", "project": "shop", "url": %q}`, who, url))
		b.must("Webhooks/Create", `{"name": "gone-`+who+`", "provider": "github", "repository": "repo-shop"}`)
		b.must("Contexts/Create", `{"context": {"name": "gone-`+who+`", "project": "shop", "values": "{}"}}`)
		b.must("Outputs/Put", `{"outputs": {"name": "gone-`+who+`", "project": "shop", "values": "{}"}}`)
		b.must("Services/Create", service("edge-shop", "gone-"+who, "repo-shop"))
		b.must("GlobalServices/Apply", globalService("gone-"+who, "shop"))
		b.must("ManagedNamespaces/Apply", globalService("gone-"+who, "shop"))
		b.must("NotificationSinks/Apply", sink("gone-"+who, "shop"))
		b.must("NotificationRouters/Apply", router("gone-"+who, "shop"))
		b.stored("gone-" + who)
		b.must("Users/Create", `{"email": "gone-`+who+`@example.com"}`)
		b.must("Groups/Create", `{"name": "gone-`+who+`"}`)
		if status, made := b.as(who, "Tokens/Create", `{"name": "own", "scopes": ["read"]}`); status == http.StatusOK {
			b.ids["own:"+who] = made["token"].(map[string]any)["id"].(string)
		}
		// One of the same person that this token did not create.
		maker := who
		if strings.HasPrefix(who, "admin") {
			maker = "admin"
		}
		if status, made := b.as(maker, "Tokens/Create", `{"name": "beside", "scopes": ["read"]}`); status == http.StatusOK {
			b.ids["beside:"+who] = made["token"].(map[string]any)["id"].(string)
		}
	}
	b.ids["own"], b.ids["beside"] = "none", "none"
	b.ids["shop-service"] = b.must("Services/Get", `{"ref": {"cluster": "edge-shop", "name": "db"}}`)["id"].(string)
	b.ids["operation"] = b.must("Operations/Start", `{"action": "pause", "serviceIds": ["`+b.ids["shop-service"]+`"]}`)["id"].(string)
	b.must("ServiceAccounts/Create", `{"name": "bot"}`)
}

// class returns an answer's letter in the table. Any other answer means that
// the caller was authorized.
func class(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "1"
	case http.StatusForbidden:
		return "3"
	case http.StatusNotFound:
		return "4"
	case toLogin:
		return ">"
	}
	return "+"
}

// call makes a row's request and returns the status that a unary call would
// have had.
func (b *tableBed) call(row tableRow, who string, streaming bool) (int, []byte) {
	b.t.Helper()
	request := b.fill(who, row.request)
	if plain := strings.HasPrefix(row.route, "/") || strings.Contains(row.route, " /"); plain {
		method, path, _ := strings.Cut(request, " ")
		return b.send(who, method, path, "", nil)
	}
	if request == "" {
		request = "{}"
	}
	if !streaming {
		return b.send(who, http.MethodPost, long(row.route), "application/json", []byte(request))
	}
	body := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(request)))
	status, text := b.send(who, http.MethodPost, long(row.route), "application/connect+json", append(body, request...))
	if status != http.StatusOK {
		return status, text
	}
	switch {
	case bytes.Contains(text, []byte(`"code":"unauthenticated"`)):
		return http.StatusUnauthorized, text
	case bytes.Contains(text, []byte(`"code":"permission_denied"`)):
		return http.StatusForbidden, text
	case bytes.Contains(text, []byte(`"code":"not_found"`)):
		return http.StatusNotFound, text
	}
	return status, text
}

// TestEveryRouteAnswersAsTheTableSays calls every route of a running hub as
// every identity. The expected answers are written by hand in
// testdata/access_table.txt.
func TestEveryRouteAnswersAsTheTableSays(t *testing.T) {
	b := newTableBed(t)
	routes, rows := routesOf(t, b.Hub), readTable(t)
	listed := map[string]bool{}
	for _, row := range rows {
		if _, there := routes[row.route]; !there {
			t.Errorf("line %d: the hub has no route %q", row.line, row.route)
		}
		listed[row.route] = true
	}
	for route := range routes {
		if !listed[route] {
			t.Errorf("%q has no row in testdata/access_table.txt: say who may ask it, and what it answers everybody else", route)
		}
	}
	for _, row := range rows {
		streaming, there := routes[row.route]
		if !there {
			continue
		}
		// Those who are refused come first, so that what they may not change
		// is still there.
		order := []int{}
		for _, refused := range []bool{true, false} {
			for i := range identities {
				if (row.expects[i] != '+') == refused {
					order = append(order, i)
				}
			}
		}
		got, said := []byte(row.expects), ""
		for _, i := range order {
			status, text := b.call(row, identities[i], streaming)
			if got[i] = class(status)[0]; got[i] != row.expects[i] || status == http.StatusInternalServerError {
				said += fmt.Sprintf("\n\t%s: %d: %.200s", identities[i], status, text)
			}
			if class(status) != "+" && bytes.Contains(text, []byte("edge-lab")) && !strings.Contains(row.request, "edge-lab") {
				t.Errorf("line %d: %s tells %s of somebody else's cluster: %s", row.line, row.route, identities[i], text)
			}
		}
		if said != "" {
			t.Errorf("line %d: %s answers %s, want %s%s", row.line, row.route, got, row.expects, said)
		}
	}
}

// A caller without bindings gets the same error from every call about objects,
// with how to get access, whatever the name.
func TestAStrangerIsToldWhoGivesAccess(t *testing.T) {
	b := newTableBed(t)
	for _, call := range []string{"Projects/List", "Clusters/List", "Services/List", "Repositories/List", "Webhooks/List", "Contexts/List", "Outputs/List", "Events/List", "Agents/UpgradeStatus", "Hub/Status", "Backends/List", "Fleet/Summary", "Fleet/QueryServices", "Fleet/Search"} {
		status, answer := b.as("stranger", call, "{}")
		if text := fmt.Sprint(answer["message"]); status != http.StatusForbidden || !strings.Contains(text, "axle auth bind --user stranger@example.com") {
			t.Errorf("%s: %d: %s", call, status, text)
		}
	}
	// There and not there are the same.
	for call, requests := range map[string][2]string{
		"Clusters/Get":     {`{"name": "edge-shop"}`, `{"name": "edge-none"}`},
		"Services/Get":     {`{"ref": {"cluster": "edge-shop", "name": "web"}}`, `{"ref": {"cluster": "edge-none", "name": "web"}}`},
		"Repositories/Get": {`{"name": "repo-shop"}`, `{"name": "repo-none"}`},
		"Contexts/Get":     {`{"name": "ctx-shop"}`, `{"name": "ctx-none"}`},
		"Projects/Get":     {`{"name": "shop"}`, `{"name": "none"}`},
		"Clusters/List":    {`{"project": "shop"}`, `{"project": "none"}`},
		"Events/List":      {`{"cluster": "edge-shop"}`, `{"cluster": "edge-none"}`},
		"Clusters/Update":  {`{"name": "edge-shop", "handle": "x"}`, `{"name": "edge-none", "handle": "x"}`},
		"Webhooks/Delete":  {`{"name": "hook-shop"}`, `{"name": "hook-none"}`},
		"Access/CanI":      {`{"action": "read", "place": {"cluster": "edge-shop"}}`, `{"action": "read", "place": {"cluster": "edge-none"}}`},
		"Services/Create":  {service("edge-shop", "x", "repo-shop"), service("edge-none", "x", "repo-none")},
	} {
		for _, who := range []string{"stranger", "other"} {
			there, answer := b.as(who, call, requests[0])
			not, nothing := b.as(who, call, requests[1])
			a, n := fmt.Sprint(answer["message"], answer["reason"]), fmt.Sprint(nothing["message"], nothing["reason"])
			if a = strings.NewReplacer("shop", "none").Replace(a); there != not || a != n {
				t.Errorf("%s by %s: %d %q for what is there, %d %q for what is not", call, who, there, a, not, n)
			}
		}
	}
	// A change of access takes effect at once.
	b.must("Bindings/Create", `{"subjectKind": "user", "subject": "stranger@example.com", "actions": ["read"], "place": {"cluster": "edge-shop", "service": "web"}}`)
	eventually.For(t, tableLimit, "the binding acts", func() error {
		if status, answer := b.as("stranger", "Services/Get", `{"ref": {"cluster": "edge-shop", "name": "web"}}`); status != http.StatusOK {
			return fmt.Errorf("%d: %v", status, answer)
		}
		return nil
	})
	if status, _ := b.as("stranger", "Services/Get", `{"ref": {"cluster": "edge-shop", "name": "db"}}`); status != http.StatusNotFound {
		t.Errorf("a binding of one service shows another: %d", status)
	}
}
