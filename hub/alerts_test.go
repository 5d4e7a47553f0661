package hub_test

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/liveness"
	"github.com/axle-cd/axle/hub/fleet/metrics"
	"github.com/axle-cd/axle/hub/fleet/reported"
	"github.com/axle-cd/axle/hub/hubtest"
)

// alertLabels are the values that the labels of the fleet's numbers have, and
// the labels that a scrape adds to each.
var alertLabels = map[string][]string{
	"sync": {string(fleet.Synced), string(fleet.Pending), string(fleet.Applying), string(fleet.Drifted), string(fleet.Failed),
		string(fleet.Held), string(fleet.Paused), metrics.Unreported},
	"health": {string(fleet.Healthy), string(fleet.Progressing), string(fleet.Degraded), string(fleet.Suspended), string(fleet.Missing),
		string(fleet.HealthUnknown), "failed", "pullable"},
	"freshness": {string(fleet.Fresh), string(fleet.Stale), string(fleet.Unknown)},
	"from":      {"disk", "built", "owner", "replica", "none"},
	"pool":      {"cluster_requests", "replica_requests"},
}

// runbooks is where the page of each alert is, and served is its URL at a hub.
const (
	runbooks     = "../docs/runbooks/"
	runbooksURL  = "https://axle.example.com/docs/runbooks/"
	scrapeLabels = "job,instance,le"
)

// runbookOf is the name of an alert's page, without its ending.
func runbookOf(alert string) string {
	return strings.ToLower(regexp.MustCompile("([a-z])([A-Z])").ReplaceAllString(alert, "$1-$2"))
}

// The alert rules are rules to Prometheus itself, ask for nothing that the hub
// does not serve, and each is explained to who is woken by it.
func TestAlertRulesAskForWhatTheHubServes(t *testing.T) {
	served := servedMetrics(t)
	groups, problems := rulefmt.ParseFile("../deploy/alerts/axle.rules.yaml", false, model.UTF8Validation)
	for _, problem := range problems {
		t.Error(problem)
	}
	if groups == nil {
		t.FailNow()
	}
	asked, pages := map[string]bool{}, map[string]bool{}
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			for metric := range asks(t, rule.Alert, rule.Expr, served) {
				asked[metric] = true
			}
			if !slices.Contains([]string{"critical", "warning", "info"}, rule.Labels["severity"]) || rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
				t.Errorf("%s needs a severity, a summary and a description", rule.Alert)
			}
			page := runbookOf(rule.Alert)
			pages[page+".md"] = true
			if want := runbooksURL + page + "/"; rule.Annotations["runbook_url"] != want {
				t.Errorf("the runbook of %s is %s, want %s", rule.Alert, rule.Annotations["runbook_url"], want)
			}
			text, err := os.ReadFile(runbooks + page + ".md")
			if err != nil || !strings.HasPrefix(string(text), "# "+rule.Alert+"\n") || !strings.Contains(string(text), "\n## See it\n") || !strings.Contains(string(text), "\n## What to do\n") {
				t.Errorf("%s.md is no runbook of %s: %v", page, rule.Alert, err)
			}
		}
	}
	entries, err := os.ReadDir(runbooks)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !pages[entry.Name()] {
			t.Errorf("%s is the runbook of no alert", entry.Name())
		}
	}
	for _, metric := range []string{"axle_fleet_services", "axle_fleet_clusters", "axle_gitcache_repositories"} {
		if !asked[metric] {
			t.Errorf("no rule asks for %s", metric)
		}
	}
}

// asks returns the metrics that a query uses, and checks that the hub serves them with
// its labels.
func asks(t *testing.T, name, query string, served map[string]string) map[string]bool {
	t.Helper()
	expression, err := parser.ParseExpr(query)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	asked, labels, grouped := map[string]bool{}, scrapeLabels, []string{}
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		if aggregate, ok := node.(*parser.AggregateExpr); ok {
			grouped = append(grouped, aggregate.Grouping...)
		}
		selector, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		metric := selector.Name
		if _, histogram := served[strings.TrimSuffix(metric, "_bucket")]; histogram {
			metric = strings.TrimSuffix(metric, "_bucket")
		}
		asked[metric] = true
		known, there := served[metric]
		if !there {
			t.Errorf("%s asks for %s, which the hub does not serve", name, selector.Name)
		}
		known += "," + scrapeLabels
		labels += "," + known
		for _, m := range selector.LabelMatchers {
			if m.Name == model.MetricNameLabel {
				continue
			}
			if !slices.Contains(strings.Split(known, ","), m.Name) {
				t.Errorf("%s: %s has no label %s", name, selector.Name, m.Name)
			}
			for _, value := range strings.Split(m.Value, "|") {
				if !slices.Contains(alertLabels[m.Name], value) && value != "$job" {
					t.Errorf("%s: %s is never %q", name, m.Name, value)
				}
			}
		}
		return nil
	})
	for _, label := range grouped {
		if !slices.Contains(strings.Split(labels, ","), label) {
			t.Errorf("%s groups by %s, which no metric in it has", name, label)
		}
	}
	return asked
}

// servedMetrics are the labels of all metrics of a hub, by name.
func servedMetrics(t *testing.T) map[string]string {
	t.Helper()
	all, err := hubtest.New(t, hubtest.Config{}).Exported()
	if err != nil {
		t.Fatal(err)
	}
	served := map[string]string{}
	for _, m := range all {
		served[m.Name] = m.Labels
	}
	return served
}

// counted is a fleet of one moment.
type counted struct {
	services map[reported.State]int
	clusters map[fleet.Freshness]int
	all      int
}

func (c counted) ServiceCounts() map[reported.State]int  { return c.services }
func (c counted) ClusterCounts() map[fleet.Freshness]int { return c.clusters }
func (c counted) Size() (clusters, services int)         { return len(c.clusters), c.all }

// The fleet's numbers are exported with their labels, and the count of
// unreported services is never negative.
func TestFleetNumbersOnTheirWayOut(t *testing.T) {
	for all, unreported := range map[int]float64{10: 3, 5: 0} {
		registry := prometheus.NewRegistry()
		c := counted{
			services: map[reported.State]int{{Sync: "Synced", Health: "Healthy"}: 5, {Sync: "Failed", Health: "Degraded"}: 2},
			clusters: map[fleet.Freshness]int{fleet.Stale: 4}, all: all,
		}
		registry.MustRegister(metrics.New(c, c))
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, family := range families {
			for _, m := range family.GetMetric() {
				var words []string
				for _, l := range m.GetLabel() {
					words = append(words, l.GetValue())
				}
				got[strings.Join(append([]string{family.GetName()}, words...), " ")] = m.GetGauge().GetValue()
			}
		}
		for name, n := range map[string]float64{
			"axle_fleet_services Healthy Synced": 5, "axle_fleet_services Degraded Failed": 2, "axle_fleet_services Unknown Unreported": unreported,
			"axle_fleet_clusters Fresh": 0, "axle_fleet_clusters Stale": 4, "axle_fleet_clusters Unknown": 0,
		} {
			if got[name] != n {
				t.Errorf("of %d services %s is %v, want %v", all, name, got[name], n)
			}
		}
	}
}

// A scrape of a large fleet is fast, because it reads only memory.
func TestCountingClustersIsQuick(t *testing.T) {
	polls := liveness.New(0, time.Minute)
	intervals := map[string]int64{}
	for n := range 20_000 {
		intervals[strconv.Itoa(n)] = 0
	}
	polls.Load(intervals)
	if n := polls.Count(time.Hour.Microseconds()); n[liveness.Stale] != len(intervals) {
		t.Fatalf("%v", n)
	}
	quickest := time.Hour
	for range 20 {
		began := time.Now()
		polls.Count(time.Hour.Microseconds())
		quickest = min(quickest, time.Since(began))
	}
	t.Logf("%d clusters in %v", len(intervals), quickest)
	if quickest > 10*time.Millisecond {
		t.Errorf("%d clusters are counted in %v", len(intervals), quickest)
	}
}
