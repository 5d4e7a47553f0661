package hub_test

import (
	"os"
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
}

// The alert rules are rules to Prometheus itself, ask for nothing that the hub
// does not serve, and each is explained to who is woken by it.
func TestAlertRulesAskForWhatTheHubServes(t *testing.T) {
	served := servedMetrics(t)
	groups, problems := rulefmt.ParseFile("../deploy/alerts/axle.rules.yaml", false, model.UTF8Validation, parser.NewParser(parser.Options{}), nil)
	for _, problem := range problems {
		t.Error(problem)
	}
	if groups == nil {
		t.FailNow()
	}
	page, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]bool{}
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			for metric := range alertAsks(t, rule, served) {
				asked[metric] = true
			}
			if !slices.Contains([]string{"critical", "warning", "info"}, rule.Labels["severity"]) || rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
				t.Errorf("%s needs a severity, a summary and a description", rule.Alert)
			}
			if !strings.Contains(string(page), "`"+rule.Alert+"`") {
				t.Errorf("docs/operations.md says nothing of %s", rule.Alert)
			}
		}
	}
	for _, metric := range []string{"axle_fleet_services", "axle_fleet_clusters", "axle_gitcache_repositories"} {
		if !asked[metric] {
			t.Errorf("no rule asks for %s", metric)
		}
	}
}

// alertAsks returns the metrics that a rule uses.
func alertAsks(t *testing.T, rule rulefmt.Rule, served map[string]string) map[string]bool {
	t.Helper()
	expression, err := parser.NewParser(parser.Options{}).ParseExpr(rule.Expr)
	if err != nil {
		t.Fatalf("%s: %v", rule.Alert, err)
	}
	asked := map[string]bool{}
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		selector, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		asked[selector.Name] = true
		known, there := served[selector.Name]
		if !there {
			t.Errorf("%s asks for %s, which the hub does not serve", rule.Alert, selector.Name)
		}
		for _, m := range selector.LabelMatchers {
			if m.Name == model.MetricNameLabel {
				continue
			}
			if !slices.Contains(strings.Split(known, ","), m.Name) {
				t.Errorf("%s: %s has no label %s", rule.Alert, selector.Name, m.Name)
			}
			for _, value := range strings.Split(m.Value, "|") {
				if !slices.Contains(alertLabels[m.Name], value) {
					t.Errorf("%s: %s is never %q", rule.Alert, m.Name, value)
				}
			}
		}
		return nil
	})
	return asked
}

// servedMetrics are the labels of all metrics of a hub, by name.
func servedMetrics(t *testing.T) map[string]string {
	t.Helper()
	descriptions := make(chan *prometheus.Desc)
	h := hubtest.New(t, hubtest.Config{})
	go func() {
		h.Metrics().Describe(descriptions)
		close(descriptions)
	}()
	served := map[string]string{}
	for d := range descriptions {
		if m := described.FindStringSubmatch(d.String()); m != nil {
			served[m[1]] = m[3]
		}
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
