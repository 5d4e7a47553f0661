package hub_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/api/object"
)

// rowsIn are the rows of a list's answer, each with the fields named, sorted.
func rowsIn(answer map[string]any, list string, fields ...string) []string {
	rows := []string{}
	all, _ := answer[list].([]any)
	for _, one := range all {
		var row []string
		for _, field := range fields {
			value := one.(map[string]any)[field]
			if value == nil {
				value = 0
			}
			row = append(row, fmt.Sprint(value))
		}
		rows = append(rows, strings.Join(row, " "))
	}
	slices.Sort(rows)
	return rows
}

// gone adds to rows one for each thing that the bed made to be deleted.
func gone(format string, rows ...string) []string {
	for _, who := range identities {
		rows = append(rows, fmt.Sprintf(format, "gone-"+who))
	}
	slices.Sort(rows)
	return rows
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }

// TestListsShowWhatOneMaySee compares each list, row by row and with its
// counts, with what a reader of one of two projects should see, and a writer
// of the other.
func TestListsShowWhatOneMaySee(t *testing.T) {
	b := newTableBed(t)
	// A guest of shop on a cluster of lab, and a service of lab made of a
	// repository of shop.
	b.must("Services/Create", strings.Replace(service("edge-lab", "guest", "repo-shop"), `{"ref"`, `{"project": "shop", "ref"`, 1))
	b.must("Services/Create", service("edge-lab", "borrower", "repo-shop"))
	const shopServices, n = 12, 9 // web, db, the guest and nine to be deleted
	lists := map[string]struct {
		list    string
		request string
		fields  []string
		reader  []string
		other   []string
	}{
		"Projects/List": {
			"projects", `{}`, []string{"name", "clusters", "services"},
			[]string{fmt.Sprint("shop ", n+1, " ", shopServices)},
			// The guest is on their cluster, so they see it and its project.
			[]string{"lab 1 3", "shop 0 1"},
		},
		"Clusters/List": {
			"clusters", `{}`, []string{"name", "handle", "project", "services"},
			gone("%[1]s %[1]s shop 0", "edge-shop edge-shop shop 11"), []string{"edge-lab edge-lab lab 4"},
		},
		"Services/List": {
			"services", `{"pageSize": 500}`, []string{"cluster", "name", "project"},
			gone("edge-shop %s shop", "edge-shop web shop", "edge-shop db shop", "edge-lab guest shop"),
			[]string{"edge-lab borrower lab", "edge-lab db lab", "edge-lab guest shop", "edge-lab web lab"},
		},
		"GlobalServices/List": {
			"globalServices", `{}`, []string{"name"}, gone("%s", "global-shop"), []string{"global-lab"},
		},
		"ManagedNamespaces/List": {
			"namespaces", `{}`, []string{"name"}, gone("%s", "namespace-shop"), []string{"namespace-lab"},
		},
		"NotificationSinks/List": {
			"sinks", `{}`, []string{"name"}, gone("%s", "sink-shop"), []string{"sink-lab"},
		},
		"NotificationRouters/List": {
			"routers", `{}`, []string{"name"}, gone("%s", "router-shop"), []string{"router-lab"},
		},
		"Repositories/List": {
			"repositories", `{}`, []string{"name", "project", "services"},
			gone("%s shop 0", "repo-cloud shop 0", fmt.Sprint("repo-shop shop ", shopServices)), []string{"repo-lab lab 2"},
		},
		"Webhooks/List": {
			"webhooks", `{}`, []string{"name", "repository"},
			gone("%s repo-shop", "hook-shop repo-shop"), []string{"hook-lab repo-lab"},
		},
		"Contexts/List": {
			"contexts", `{}`, []string{"name", "project", "services"},
			gone("%s shop 0", "ctx-shop shop 2"), []string{"ctx-lab lab 2"},
		},
		"Outputs/List": {
			"outputs", `{}`, []string{"name", "project"}, gone("%s shop", "out-shop shop"), []string{"out-lab lab"},
		},
		"Tokens/List": {
			"tokens", `{}`, []string{"name", "owner"},
			[]string{"beside reader@example.com", "first reader@example.com", "own reader@example.com"}, []string{"beside other@example.com", "first other@example.com", "own other@example.com"},
		},
		"Bindings/List": {
			"bindings", `{}`, []string{"subject", "action", "object"},
			[]string{"reader@example.com read shop"}, []string{"other@example.com git lab", "other@example.com write lab"},
		},
		"Notifications/List": {"notifications", `{}`, []string{"id"}, []string{}, []string{}},
		// The bed has one, the administrator's.
		"Operations/List":     {"operations", `{}`, []string{"id"}, []string{}, []string{}},
		"Logins/ListSessions": {"sessions", `{}`, []string{"id"}, []string{}, []string{}},
		// Nobody has logged in to an application there.
		"Logins/ListApplications": {"logins", `{}`, []string{"application"}, []string{}, []string{}},
		"Agents/UpgradeStatus": {
			"targets", `{}`, []string{"cluster"}, []string{}, []string{},
		},
	}
	for _, k := range object.Stored() {
		one := lists["Projects/List"]
		one.list, one.fields = lowerFirst(k.Calls.Service), []string{"name"}
		one.reader = gone("%s", "stored")
		if one.other = one.reader; k.Storage.InProject {
			one.other = []string{}
		}
		lists[k.Calls.Path(k.Calls.List)] = one
	}
	for call, want := range lists {
		for who, rows := range map[string][]string{"reader": want.reader, "other": want.other} {
			status, answer := b.as(who, call, want.request)
			if diff := cmp.Diff(rows, rowsIn(answer, want.list, want.fields...)); status != 200 || diff != "" {
				t.Errorf("%s by %s: %d (-want +got):\n%s", call, who, status, diff)
			}
		}
	}
	t.Run("a list that anybody may ask for is compared here", func(t *testing.T) {
		elsewhere := []string{"NotificationRouters/ListEvents", "Events/List", "ClusterAPI/ListObjects", "Services/ListRevisions", "Services/ListTests", "ClusterAlerts/List"}
		for _, row := range readTable(t) {
			_, method, _ := strings.Cut(row.route, "/")
			if _, here := lists[row.route]; !here && strings.HasPrefix(method, "List") && row.expects[4] == '+' && !slices.Contains(elsewhere, row.route) {
				t.Errorf("%s is open to readers; say here which rows they see", row.route)
			}
		}
	})
	t.Run("pages leave out as well", func(t *testing.T) {
		var all []string
		token := ""
		for range 100 {
			status, answer := b.as("reader", "Services/List", fmt.Sprintf(`{"pageSize": 5, "pageToken": %q}`, token))
			page := rowsIn(answer, "services", "cluster", "name", "project")
			next, _ := answer["nextPageToken"].(string)
			if status != 200 || next != "" && len(page) != 5 {
				t.Fatalf("%d: a page of %d: %v", status, len(page), answer)
			}
			if all, token = append(all, page...), next; token == "" {
				break
			}
		}
		slices.Sort(all)
		if diff := cmp.Diff(lists["Services/List"].reader, all); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("events", func(t *testing.T) {
		for who, mine := range map[string]string{"reader": "shop", "other": "lab"} {
			_, answer := b.as(who, "Events/List", `{"limit": 1000}`)
			objects := rowsIn(answer, "events", "object")
			if len(objects) == 0 {
				t.Errorf("%s sees no event at all", who)
			}
			for _, o := range objects {
				theirs := strings.Contains(o, "edge-"+mine) || o == "service edge-lab/guest" || mine == "shop" && strings.Contains(o, " gone-")
				if !theirs {
					t.Errorf("%s sees an event of %s", who, o)
				}
			}
		}
	})
	t.Run("counts of one thing", func(t *testing.T) {
		for who, want := range map[string]int{"reader": shopServices, "admin": shopServices + 1} {
			_, answer := b.as(who, "Repositories/Get", `{"name": "repo-shop"}`)
			if got := fmt.Sprint(answer["services"]); got != fmt.Sprint(want) {
				t.Errorf("repository for %s: %s services, want %d", who, got, want)
			}
		}
		status, answer := b.as("reader", "Projects/Get", `{"name": "shop"}`)
		if status != 200 || fmt.Sprint(answer["services"]) != fmt.Sprint(shopServices) {
			t.Errorf("project: %d %v", status, answer)
		}
	})
	t.Run("what is taken from others has to be readable", func(t *testing.T) {
		for name, request := range map[string]string{
			"a repository":         service("edge-lab", "thief", "repo-shop"),
			"a chart's repository": service("edge-lab", "thief", "repo-lab", `"helm": {"repository": "repo-shop", "chart": "x"}`),
			"a dependency":         service("edge-lab", "thief", "repo-lab", `"dependencies": [{"name": "web", "cluster": "edge-shop"}]`),
			"a context":            service("edge-lab", "thief", "repo-lab", `"contexts": ["ctx-shop"]`),
			"another project":      strings.Replace(service("edge-lab", "thief", "repo-lab"), `{"ref"`, `{"project": "shop", "ref"`, 1),
		} {
			for _, call := range []string{"Services/Create", "Services/Apply"} {
				status, answer := b.as("other", call, request)
				if status != 400 && status != 404 && status != 403 {
					t.Errorf("%s by %s: %d %v", name, call, status, answer)
				}
			}
		}
	})
}
