package hub_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/internal/eventually"
)

// movers are the people who play the fields of testdata/access_table.txt that
// put things elsewhere.
var movers = []string{"other", "guest", "both"}

// fieldRow is what a field of some calls answers the movers.
type fieldRow struct {
	line    int
	calls   []string
	field   string
	expects string
	request string
}

// readFieldRows reads the rows that begin with >.
func readFieldRows(t *testing.T) []fieldRow {
	t.Helper()
	text, err := os.ReadFile("testdata/access_table.txt")
	if err != nil {
		t.Fatal(err)
	}
	var rows []fieldRow
	above := ""
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		rest, isField := strings.CutPrefix(line, "> ")
		if !isField {
			above, _, _ = strings.Cut(line, " ")
			continue
		}
		parts := gap.Split(rest, 4)
		if len(parts) != 4 || len(parts[2]) != len(movers) || strings.Trim(parts[2], "+x34") != "" {
			t.Fatalf("line %d of the table is not a field, what it needs, an answer for each of %v, and a request: %s", i+1, movers, line)
		}
		row := fieldRow{line: i + 1, calls: []string{above}, field: parts[0], expects: parts[2], request: parts[3]}
		if calls, field, named := strings.Cut(parts[0], " "); named {
			service, methods, _ := strings.Cut(calls, "/")
			row.calls, row.field = nil, field
			for method := range strings.SplitSeq(methods, ",") {
				row.calls = append(row.calls, service+"/"+method)
			}
		}
		rows = append(rows, row)
		above = row.calls[len(row.calls)-1]
	}
	return rows
}

// newMoversBed adds to the bed the movers, the objects they move, and what only
// shop has.
func newMoversBed(t *testing.T) *tableBed {
	t.Helper()
	b := newTableBed(t)
	for who, reads := range map[string]string{"guest": `"read"`, "both": `"write", "git"`} {
		made := b.must("Users/Create", fmt.Sprintf(`{"email": "%s@example.com", "tokenScopes": ["admin"]}`, who))
		b.bearers[who] = made["token"].(string)
		for project, actions := range map[string]string{"lab": `"write", "git"`, "shop": reads} {
			b.must("Bindings/Create", fmt.Sprintf(`{"subjectKind": "user", "subject": "%s@example.com", "actions": [%s], "place": {"project": %q}}`, who, actions, project))
		}
	}
	for name, kind := range map[string]string{"git-shop": "git", "charts-shop": "helm"} {
		b.ids[name] = "http://127.0.0.1:1/" + name
		b.must("Repositories/Create", fmt.Sprintf(`{"name": %q, "project": "shop", "type": %q, "url": %q}`, name, kind, b.ids[name]))
	}
	for kind, url := range map[string]string{"git": "http://127.0.0.1:1/s", "oci": "oci://127.0.0.1:1/s", "helm": "http://127.0.0.1:1/s"} {
		b.must("Repositories/Create", fmt.Sprintf(`{"name": "secret-%s", "project": "shop", "type": %q, "url": %q, "auth": "basic", "credentials": {"username": "u", "password": "p"}}`, kind, kind, url))
	}
	b.ids["shop-web"] = b.must("Services/Get", `{"ref": {"cluster": "edge-shop", "name": "web"}}`)["id"].(string)
	b.must("Services/Create", service("edge-lab", "borrower", "repo-shop"))
	for _, who := range movers {
		b.must("Clusters/Create", `{"name": "move-`+who+`", "project": "shop"}`)
		for name, project := range map[string]string{"mine-": "lab", "stays-": "lab", "move-": "shop"} {
			b.must("Contexts/Create", fmt.Sprintf(`{"context": {"name": %q, "project": %q, "values": "{}"}}`, name+who, project))
			b.must("Outputs/Put", fmt.Sprintf(`{"outputs": {"name": %q, "project": %q, "values": "{}"}}`, name+who, project))
		}
	}
	return b
}

func fieldClass(status int) string {
	switch status {
	case http.StatusOK:
		return "+"
	case http.StatusBadRequest, http.StatusConflict:
		return "x"
	}
	return class(status)
}

// TestFieldsThatMoveThingsNeedTheirNewPlace sets every field that moves an
// object, or widens access to it, as callers who may not.
func TestFieldsThatMoveThingsNeedTheirNewPlace(t *testing.T) {
	b := newMoversBed(t)
	for _, row := range readFieldRows(t) {
		for _, call := range row.calls {
			name := "web"
			if strings.HasSuffix(call, "/Create") {
				name = "brand-new"
			}
			request := strings.ReplaceAll(row.request, "{name}", name)
			for i, who := range movers {
				status, answer := b.as(who, call, request)
				said := fmt.Sprint(answer["message"])
				if call == "Repositories/Update" && row.expects[i] == 'x' && !strings.HasPrefix(strings.ToLower(said), strings.ReplaceAll(row.field, "_", "")+": ") {
					t.Errorf("line %d: %s by %s does not name %s: %s", row.line, call, who, row.field, said)
				}
				if got := fieldClass(status); got != row.expects[i:i+1] {
					t.Errorf("line %d: %s with %s by %s answers %s, want %s: %v", row.line, call, row.field, who, got, row.expects[i:i+1], answer["message"])
				}
			}
		}
	}
	for _, who := range movers {
		for _, call := range []string{"Contexts/List", "Outputs/List"} {
			list := strings.ToLower(strings.TrimSuffix(call, "/List"))
			for _, row := range rowsIn(b.must(call, `{}`), list, "name", "project") {
				if name, project, _ := strings.Cut(row, " "); name == "stays-"+who && project != "lab" {
					t.Errorf("%s: %s is in project %q after a change that names none, want lab", call, name, project)
				}
			}
		}
	}
}

// TestMovingAServiceIsCreatingItThere is the same from the side of bindings:
// nothing less than changing it, and creating on its cluster and in the project
// that it goes to, moves a service.
func TestMovingAServiceIsCreatingItThere(t *testing.T) {
	b := newMoversBed(t)
	bind := func(who, actions, place string) {
		b.must("Bindings/Create", fmt.Sprintf(`{"subjectKind": "user", "subject": "%s@example.com", "actions": [%s], "place": {%s}}`, who, actions, place))
	}
	const web = `"cluster": "edge-shop", "service": "web"`
	for _, p := range []struct{ who, more, status string }{
		{"one-service", "", "4"},
		{"and-target", `"project": "lab"`, "3"},
		{"and-cluster", `"cluster": "edge-shop"`, "4"},
		{"and-both", `"project": "lab"|"cluster": "edge-shop"`, "+"},
	} {
		made := b.must("Users/Create", fmt.Sprintf(`{"email": "%s@example.com", "tokenScopes": ["admin"]}`, p.who))
		b.bearers[p.who] = made["token"].(string)
		bind(p.who, `"write"`, web)
		for place := range strings.SplitSeq(p.more, "|") {
			if place != "" {
				bind(p.who, `"create"`, place)
				bind(p.who, `"read"`, place)
			}
		}
		move := strings.Replace(service("edge-shop", "web", "repo-lab"), `{"ref"`, `{"dryRun": true, "project": "lab", "ref"`, 1)
		if status, answer := b.as(p.who, "Services/Apply", move); fieldClass(status) != p.status {
			t.Errorf("%s moves it: %d, want %s: %v", p.who, status, p.status, answer["message"])
		}
		// Saying where it is already moves nothing.
		stay := strings.Replace(service("edge-shop", "web", "repo-shop"), `{"ref"`, `{"dryRun": true, "project": "shop", "ref"`, 1)
		if status, answer := b.as(p.who, "Services/Apply", stay); status != http.StatusOK {
			t.Errorf("%s leaves it where it is: %d: %v", p.who, status, answer["message"])
		}
	}
	t.Run("what a service has it keeps", func(t *testing.T) {
		b := &tableBed{Hub: b.Hub, t: t, bearers: b.bearers, ids: b.ids, client: b.client}
		for call, request := range map[string]string{
			"Services/Apply":  service("edge-lab", "borrower", "repo-shop"),
			"Services/Update": `{"ref": {"cluster": "edge-lab", "name": "borrower"}, "spec": {"namespace": "elsewhere"}, "fields": ["namespace"]}`,
		} {
			if status, answer := b.as("other", call, request); status != http.StatusOK {
				t.Errorf("%s of a service that follows another project's repository: %d: %v", call, status, answer["message"])
			}
		}
	})
	t.Run("the hub's own parent is nobody's", func(t *testing.T) {
		request := strings.Replace(service("edge-shop", "web", "repo-shop"), `{"ref"`, `{"parentId": "hub", "ref"`, 1)
		status, answer := (&tableBed{Hub: b.Hub, t: t, bearers: b.bearers, client: b.client}).as("admin", "Services/Apply", request)
		if status != http.StatusBadRequest {
			t.Errorf("%d: %v", status, answer)
		}
	})
	t.Run("a URL is the project's own repository", func(t *testing.T) {
		b := &tableBed{Hub: b.Hub, t: t, bearers: b.bearers, ids: b.ids, client: b.client}
		url := b.must("Repositories/Get", `{"name": "repo-shop"}`)["url"]
		b.must("Repositories/Create", fmt.Sprintf(`{"name": "a-first", "project": "shop", "url": %q}`, url))
		status, answer := b.as("other", "Services/Create", fmt.Sprintf(`{"ref": {"cluster": "edge-lab", "name": "by-url"}, "spec": {"git": {"url": %q, "ref": "main"}}}`, url))
		sources, _ := answer["sources"].([]any)
		if status != http.StatusOK || len(sources) != 1 || sources[0].(map[string]any)["repository"] != "repo-lab" {
			t.Errorf("%d: %v", status, answer)
		}
	})
	t.Run("approval is an administrator's, with the scope of one", func(t *testing.T) {
		b := &tableBed{Hub: b.Hub, t: t, bearers: b.bearers, ids: b.ids, client: b.client}
		if status, answer := b.as("admin-w", "Tokens/CreateBootstrap", `{"project": "lab", "approved": true, "maxUses": 2}`); status != http.StatusForbidden {
			t.Errorf("a token without the scope admin: %d: %v", status, answer)
		}
		b.must("Tokens/CreateBootstrap", `{"project": "lab", "approved": true, "maxUses": 2}`)
	})
}

// What may not be seen is answered as if it were not there, whatever field
// names it.
func TestAFieldThatNamesWhatIsHiddenTellsNothing(t *testing.T) {
	b := newMoversBed(t)
	made := b.must("Users/Create", `{"email": "one-service@example.com", "tokenScopes": ["admin"]}`)
	b.bearers["one-service"] = made["token"].(string)
	b.must("Bindings/Create", `{"subjectKind": "user", "subject": "one-service@example.com", "actions": ["write"], "place": {"cluster": "edge-lab", "service": "web"}}`)
	spec := func(cluster, fields string) string { return service(cluster, "web", "repo-lab", fields) }
	for name, of := range map[string]func(thing string) string{
		"a repository": func(thing string) string { return service("edge-lab", "web", "repo-"+thing) },
		"a source": func(thing string) string {
			return spec("edge-lab", `"sources": [{"path": "a", "git": {"ref": "main"}, "repository": "repo-`+thing+`"}]`)
		},
		"a source's URL": func(thing string) string {
			return spec("edge-lab", `"sources": [{"path": "a", "git": {"ref": "main", "url": "http://127.0.0.1:1/git-`+thing+`"}}]`)
		},
		"a chart": func(thing string) string {
			return spec("edge-lab", `"helm": {"chart": "x", "repository": "charts-`+thing+`"}`)
		},
		"a context": func(thing string) string { return spec("edge-lab", `"contexts": ["ctx-lab", "ctx-`+thing+`"]`) },
		"a cluster to wait for": func(thing string) string {
			return spec("edge-lab", `"dependencies": [{"name": "web", "cluster": "edge-`+thing+`"}]`)
		},
		"a cluster, by nobody": func(thing string) string {
			return spec("edge-shop", `"dependencies": [{"name": "web", "cluster": "edge-`+thing+`"}]`)
		},
		"a project": func(thing string) string {
			return strings.Replace(spec("edge-lab", `"protect": true`), `{"ref"`, `{"project": "`+thing+`", "ref"`, 1)
		},
		"a project, of a hidden": func(thing string) string {
			return strings.Replace(spec("edge-shop", `"protect": true`), `{"ref"`, `{"project": "`+thing+`", "ref"`, 1)
		},
	} {
		for _, c := range []struct{ call, who, name string }{{"Services/Create", "other", "web"}, {"Services/Create", "other", "fresh"}, {"Services/Apply", "one-service", "web"}} {
			request := func(thing string) string {
				return strings.Replace(of(thing), `"name": "web"}, "spec"`, `"name": "`+c.name+`"}, "spec"`, 1)
			}
			there, answer := b.as(c.who, c.call, request("shop"))
			not, nothing := b.as(c.who, c.call, request("none"))
			a, n := strings.ReplaceAll(fmt.Sprint(answer["message"]), "-shop", "-none"), strings.ReplaceAll(fmt.Sprint(nothing["message"]), "-shop", "-none")
			if a = strings.ReplaceAll(a, `"shop"`, `"none"`); there == http.StatusOK || there != not || a != n {
				t.Errorf("%s of %s by %s: %d %q for what is there, %d %q for what is not", name, c.name, c.call, there, a, not, n)
			}
		}
	}
}

// Outputs may be created after the service that imports them. Those of another
// project are waited for like those that do not exist.
func TestOutputsOfOthersAreWaitedForLikeMissingOnes(t *testing.T) {
	b := newMoversBed(t)
	answer := func(thing string) (seen map[string]any) {
		request := strings.Replace(service("edge-lab", "web", "repo-lab", `"imports": [{"stack": "out-`+thing+`"}]`), `{"ref"`, `{"dryRun": true, "ref"`, 1)
		code, answer := b.as("other", "Services/Apply", request)
		seen, _ = answer["service"].(map[string]any)
		if code != http.StatusOK {
			t.Errorf("imports of out-%s: %d %v", thing, code, answer)
		}
		for key, value := range seen {
			if seen[key] = strings.ReplaceAll(fmt.Sprint(value), "out-"+thing, "out"); strings.HasSuffix(key, "At") {
				delete(seen, key) // times
			}
		}
		return seen
	}
	eventually.For(t, time.Minute, "the repository was tried", func() error {
		if at := answer("none"); at["reason"] != "SourceError" {
			return fmt.Errorf("%v", at)
		}
		return nil
	})
	if diff := cmp.Diff(answer("none"), answer("shop")); diff != "" {
		t.Errorf("the answers differ by what exists: %s", diff)
	}
}

// TestNoCallTellsWhatIsThere makes each call that is refused to somebody of another project, and
// each with a field that is, about what is there and about what is not: the answers are the same.
func TestNoCallTellsWhatIsThere(t *testing.T) {
	b := newMoversBed(t)
	routes, other, compared := routesOf(t, b.Hub), slices.Index(identities, "other"), 0
	same := func(line int, row tableRow) {
		row.request = b.fill("other", row.request)
		there, a := b.call(row, "other", routes[row.route])
		absent := row
		absent.request = strings.ReplaceAll(row.request, "shop", "none")
		not, n := b.call(absent, "other", routes[row.route])
		if not == http.StatusOK {
			return // it was created: a name that is taken is no secret
		}
		if a, n := strings.ReplaceAll(message(a), "shop", "none"), strings.ReplaceAll(message(n), "shop", "none"); there != not || a != n {
			t.Errorf("line %d: %s answers %d %.300s for what is there, and %d %.300s for what is not", line, row.route, there, a, not, n)
		}
		compared++
	}
	for _, row := range readTable(t) {
		if strings.Contains(row.request, "shop") && row.expects[other] == '4' && !namesAreTaken[row.route] {
			same(row.line, row)
		}
	}
	for _, row := range readFieldRows(t) {
		for _, call := range row.calls {
			if strings.Contains(row.request, "shop") && row.expects[0] == '4' {
				same(row.line, tableRow{route: call, request: strings.ReplaceAll(row.request, "{name}", "brand-new")})
			}
		}
	}
	if compared < 80 {
		t.Errorf("only %d calls were compared", compared)
	}
}

// namesAreTaken are calls that create a thing by its name, or change it: its project is another
// one when it is there, and no hub can hide that a name is taken.
var namesAreTaken = map[string]bool{
	"GlobalServices/Apply": true, "ManagedNamespaces/Apply": true, "NotificationSinks/Apply": true, "NotificationRouters/Apply": true, "Contexts/Update": true, "Outputs/Put": true,
}

// message is that of an answer, also of one that is in a frame.
func message(text []byte) string {
	var answer struct {
		Message string
		Error   struct{ Message string }
	}
	if at := bytes.IndexByte(text, '{'); at >= 0 && json.Unmarshal(text[at:], &answer) == nil {
		return answer.Message + answer.Error.Message
	}
	return string(text)
}
