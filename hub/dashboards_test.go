package hub_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"

	"github.com/axle-cd/axle/internal/dashboard"
	"github.com/axle-cd/axle/test/pages"
)

// grafanaDashboard is what a test reads of Grafana's JSON.
type grafanaDashboard struct {
	UID, Title    string
	SchemaVersion int
	Templating    struct {
		List []struct{ Name, Type string }
	}
	Panels []struct {
		ID                       int
		Type, Title, Description string
		Datasource               struct{ UID string }
		GridPos                  struct{ H, W, X, Y int }
		Targets                  []struct{ RefID, Expr, LegendFormat string }
	}
}

// Each query of the dashboards is one to Prometheus, and asks for what the hub serves;
// panels lie beside each other.
func TestDashboardsAskForWhatTheHubServes(t *testing.T) {
	served := servedMetrics(t)
	files, err := filepath.Glob("../deploy/dashboards/*.json")
	if err != nil || len(files) < 4 {
		t.Fatalf("%d dashboards, %v", len(files), err)
	}
	asked, uids := map[string]bool{}, map[string]bool{}
	for _, file := range files {
		var d grafanaDashboard
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, &d)
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if want := "axle-" + strings.TrimSuffix(filepath.Base(file), ".json"); d.UID != want || uids[d.UID] || d.Title == "" || d.SchemaVersion < 36 {
			t.Errorf("%s: uid %q, want %q; title %q, schema %d", file, d.UID, want, d.Title, d.SchemaVersion)
		}
		uids[d.UID] = true
		if v := d.Templating.List; len(v) != 2 || v[0].Name != "datasource" || v[1].Name != "job" {
			t.Errorf("%s: variables %v", file, v)
		}
		taken, ids := map[[2]int]string{}, map[int]bool{}
		for _, p := range d.Panels {
			name := filepath.Base(file) + ", " + p.Title
			if ids[p.ID] || p.Title == "" || p.Description == "" || p.Datasource.UID != "${datasource}" || len(p.Targets) == 0 {
				t.Errorf("%s: a panel needs an id of its own, a title, a description, the data source and a query: %+v", name, p)
			}
			ids[p.ID] = true
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
					if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
						t.Fatalf("%s lies on %s, or outside", name, other)
					}
					taken[[2]int{x, y}] = name
				}
			}
			for _, target := range p.Targets {
				if strings.Count(target.Expr, `job=~"$job"`) < strings.Count(target.Expr, "{") {
					t.Errorf("%s: a metric of all hubs: %s", name, target.Expr)
				}
				for metric := range asks(t, name, strings.ReplaceAll(target.Expr, "$__rate_interval", "5m"), served) {
					asked[metric] = true
				}
			}
		}
	}
	for _, metric := range []string{"axle_fleet_services", "axle_gitcache_repositories", "axle_tunnel_up", "axle_hub_backup_last_success_timestamp_seconds"} {
		if !asked[metric] {
			t.Errorf("no dashboard shows %s", metric)
		}
	}
}

// The Dashboard of the hub for its console is one that the console draws, and asks for what the hub serves.
func TestTheHubsOwnDashboardAsksForWhatItServes(t *testing.T) {
	const file = "../deploy/dashboards/axle-hub.yaml"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	board, is, err := dashboard.Read(text)
	if err != nil || !is {
		t.Fatalf("%s is a Dashboard: %v; %v", file, is, err)
	}
	if err := dashboard.Check(&board.Spec); err != nil {
		t.Fatal(err)
	}
	served := servedMetrics(t)
	asked := asks(t, file, board.Spec.Labels[0].Query.Query, served)
	for _, g := range board.Spec.Graphs {
		for _, q := range g.Queries {
			if strings.Count(q.Query, `job="$job"`) < strings.Count(q.Query, "axle_")+strings.Count(q.Query, "process_") {
				t.Errorf("%s, %s: a metric of all hubs: %s", file, g.Name, q.Query)
			}
			for metric := range asks(t, g.Name, q.Query, served) {
				asked[metric] = true
			}
		}
	}
	for _, metric := range []string{"axle_fleet_clusters", "axle_fleet_services", "axle_gitcache_repositories", "axle_tunnel_up", "axle_hub_backup_last_success_timestamp_seconds", "axle_pool_refused_total"} {
		if !asked[metric] {
			t.Errorf("%s shows no %s", file, metric)
		}
	}
}

// The command of the page about alerts gives rules with a hub's own address.
func TestTheAlertsPage(t *testing.T) {
	blocks, err := pages.Script("../docs/alerts.md")
	if err != nil || len(blocks) != 1 {
		t.Fatalf("%d blocks, %v", len(blocks), err)
	}
	file := filepath.Join(t.TempDir(), "axle.rules.yaml")
	command := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", strings.ReplaceAll(blocks[0].Text, "/etc/prometheus/axle.rules.yaml", file))
	command.Dir = ".."
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	groups, problems := rulefmt.ParseFile(file, false, model.UTF8Validation)
	if groups == nil || len(problems) > 0 {
		t.Fatal(problems)
	}
	if got, want := groups.Groups[0].Rules[0].Annotations["runbook_url"], "https://axle.your-company.com/docs/runbooks/axle-hub-absent/"; got != want {
		t.Errorf("the runbook is %s, want %s", got, want)
	}
}
