package observe_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/observe"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/telemetry"
	"github.com/axle-cd/axle/test/stores"
)

// rules fire from the beginning: one alert of each namespace, and one of none.
const alertRules = `
groups:
- name: test
  rules:
  - {alert: OutOfStock, expr: vector(1), labels: {namespace: shop, severity: critical, pod: web-0}, annotations: {summary: The shelves are empty, runbook_url: "https://runbooks.example.com/stock", description: "javascript:alert(1)"}}
  - {alert: LateParcels, expr: vector(1), labels: {namespace: post, severity: warning}, annotations: {runbook_url: "javascript:alert(1)"}}
  - {alert: NodeFull, expr: vector(1), labels: {severity: info}}
  - {alert: Later, expr: vector(1), for: 1h, labels: {namespace: shop}}
`

// TestAlertsOfStores reads those of a real Prometheus and its Alertmanager, each once, for people
// who see different namespaces.
func TestAlertsOfStores(t *testing.T) {
	ctx := t.Context()
	alertmanager := stores.NewAlertmanager(t)
	prometheus := stores.NewPrometheus(t, stores.Prometheus{Rules: alertRules, Alertmanager: alertmanager})
	silence, err := json.Marshal(map[string]any{
		"matchers":  []map[string]any{{"name": "alertname", "value": "LateParcels", "isRegex": false}},
		"startsAt":  time.Now().UTC().Format(time.RFC3339),
		"endsAt":    time.Now().Add(time.Hour).UTC().Format(time.RFC3339),
		"createdBy": "kim", "comment": "the van is repaired",
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := alertmanager.Post(ctx, "/api/v2/silences", "application/json", string(silence)); err != nil {
		t.Fatal(err)
	}
	agents := &directAgents{services: map[string]*stores.Store{"alertmanager": alertmanager, "prometheus": prometheus}}
	observer := alertObserver(t, agents)
	see := func(namespaces observe.Namespaces) (*observe.Alerts, string) {
		t.Helper()
		agents.sees = namespaces
		caller := observe.Caller{}
		caller.Principal.ID = fmt.Sprintf("%#v", namespaces) // what is remembered is of a person
		found, err := observer.Alerts(ctx, caller, observe.Cluster{ID: "clu_1", Name: "edge-1"})
		if err != nil {
			return nil, err.Error()
		}
		var text []string
		for _, a := range found.Alerts {
			text = append(text, fmt.Sprintf("%s %s %s/%s %s %v", a.Name, a.State, a.Namespace, a.Pod, a.Runbook, a.Sources))
		}
		return found, strings.Join(text, "\n")
	}
	both := "[monitoring/alertmanager:9093 monitoring/prometheus:9090]"
	all := "OutOfStock firing shop/web-0 https://runbooks.example.com/stock " + both + "\nNodeFull firing /  " + both + "\nLateParcels silenced post/  " + both
	eventually.For(t, time.Minute, "the alerts", func() error {
		if _, got := see(observe.Namespaces{All: true}); got != all {
			return errors.New(got)
		}
		return nil
	})
	found, _ := see(observe.Namespaces{All: true})
	if s := found.Alerts[2].Silences; len(s) != 1 || s[0].By != "kim" || s[0].Comment != "the van is repaired" || s[0].Until == 0 {
		t.Errorf("the silence is %+v", s)
	}
	if found.Pending != 1 || found.Alerts[0].Since == 0 || found.Alerts[0].Summary != "The shelves are empty" {
		t.Errorf("%+v", found)
	}
	for name, test := range map[string]struct {
		sees observe.Namespaces
		want string
	}{
		"one namespace":            {observe.Namespaces{Names: []string{"shop"}}, strings.Split(all, "\n")[0]},
		"the other":                {observe.Namespaces{Names: []string{"post"}}, strings.Split(all, "\n")[2]},
		"none":                     {observe.Namespaces{}, ""},
		"the namespace of nothing": {observe.Namespaces{Names: []string{""}}, ""},
		"one that begins like it":  {observe.Namespaces{Names: []string{"sho", "shop-2"}}, ""},
		"a pattern is a name":      {observe.Namespaces{Names: []string{".*"}}, ""},
		"two of them":              {observe.Namespaces{Names: []string{"post", "shop"}}, strings.Split(all, "\n")[0] + "\n" + strings.Split(all, "\n")[2]},
	} {
		t.Run(name, func(t *testing.T) {
			found, got := see(test.sees)
			if got != test.want {
				t.Errorf("sees\n%s\nwant\n%s", got, test.want)
			}
			if found != nil && len(test.sees.Names) == 0 && !strings.Contains(strings.Join(found.Notices, " "), "get on pods/log") {
				t.Errorf("the notices are %q", found.Notices)
			}
		})
	}
	t.Run("an Alertmanager that is gone is said, and Prometheus still answers", func(t *testing.T) {
		alertmanager.Kill()
		found, got := see(observe.Namespaces{All: true})
		if !strings.Contains(got, "LateParcels firing") || found == nil || !strings.Contains(strings.Join(found.Notices, " "), "monitoring/alertmanager:9093") {
			t.Errorf("%s\n%+v", got, found)
		}
		prometheus.Kill()
		if _, got := see(observe.Namespaces{All: true}); !strings.Contains(got, "monitoring/alertmanager:9093") {
			t.Errorf("without both: %s", got)
		}
	})
}

// What is no answer of the API is an error of its own, and nothing of it is shown.
func TestAnswersThatAreNoAlerts(t *testing.T) {
	for name, test := range map[string]struct {
		of         telemetry.Type
		body, want string
	}{
		"a web page":             {telemetry.Alertmanager, "<html>", "something other than its API"},
		"an object":              {telemetry.Alertmanager, `{"a": 1}`, "something other than its API"},
		"it ends":                {telemetry.Alertmanager, `[{"labels": {"alertname": "x"`, "something other than its API"},
		"labels of another form": {telemetry.Alertmanager, `[{"labels": ["x"]}]`, "something other than its API"},
		"an alert of a megabyte": {telemetry.Alertmanager, `[{"labels": {"alertname": "` + strings.Repeat("x", 1<<20) + `"}}]`, "larger than"},
		"an error":               {telemetry.Prometheus, `{"status": "error", "errorType": "internal", "error": "no disk"}`, "no disk"},
		"no status":              {telemetry.Prometheus, `{"data": {"alerts": []}}`, "something other than its API"},
	} {
		t.Run(name, func(t *testing.T) {
			agents := &directAgents{sees: observe.Namespaces{All: true}, answers: map[telemetry.Type]string{test.of: test.body}}
			_, err := alertObserver(t, agents).Alerts(t.Context(), observe.Caller{}, observe.Cluster{ID: "clu_1", Name: "edge-1"})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

func TestOddAlerts(t *testing.T) {
	long := strings.Repeat("y", 5000)
	body := `[
		{"labels": null, "annotations": null},
		{"labels": {"alertname": "A", "severity": "CRITICAL"}, "annotations": {"summary": "two\nlines \u001b[31mred", "runbook_url": "https://user:secret@example.com/"}, "startsAt": "0001-01-01T00:00:00Z"},
		{"labels": {"alertname": "B", "x": "` + long + `"}, "annotations": {"runbook_url": " https://example.com/run?a=b#c "}, "startsAt": "2026-11-01T10:00:00+14:00"},
		{"labels": {"alertname": "B", "x": "` + long + `"}, "startsAt": "2026-10-01T10:00:00Z"}]`
	agents := &directAgents{sees: observe.Namespaces{All: true}, answers: map[telemetry.Type]string{telemetry.Alertmanager: body}}
	found, err := alertObserver(t, agents).Alerts(t.Context(), observe.Caller{}, observe.Cluster{ID: "clu_1", Name: "edge-1"})
	if err != nil {
		t.Fatal(err)
	}
	var text []string
	for _, a := range found.Alerts {
		text = append(text, fmt.Sprintf("%s|%s|%s|%s|%d", a.Name, a.Severity, a.Summary, a.Runbook, a.Since/1e6))
	}
	october := time.Date(2026, 10, 1, 10, 0, 0, 0, time.UTC).Unix()
	want := []string{"A|critical|two lines red||0", fmt.Sprintf("B|||https://example.com/run?a=b#c|%d", october), "without a name||||0"}
	if got := strings.Join(text, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

func TestMoreAlertsThanAreShown(t *testing.T) {
	var all []string
	for n := range 1500 {
		all = append(all, fmt.Sprintf(`{"labels": {"alertname": "A%d"}}`, n))
	}
	agents := &directAgents{sees: observe.Namespaces{All: true}, answers: map[telemetry.Type]string{telemetry.Alertmanager: "[" + strings.Join(all, ",") + "]"}}
	found, err := alertObserver(t, agents).Alerts(t.Context(), observe.Caller{}, observe.Cluster{ID: "clu_1", Name: "edge-1"})
	if err != nil || len(found.Alerts) != 1000 || found.Cut != 500 || !strings.Contains(strings.Join(found.Notices, " "), "500 alerts are not shown") {
		t.Errorf("%d alerts, %d cut, %v, %v", len(found.Alerts), found.Cut, found.Notices, err)
	}
}

// A pair of Prometheus sends each alert twice, told apart by one label; another label makes
// another alert.
func TestAlertsOfPairsAreOne(t *testing.T) {
	body := `[
		{"labels": {"alertname": "A", "namespace": "shop", "prometheus_replica": "prometheus-0"}, "startsAt": "2026-11-01T10:00:05Z"},
		{"labels": {"alertname": "A", "namespace": "shop", "prometheus_replica": "prometheus-1"}, "startsAt": "2026-11-01T10:00:00Z"},
		{"labels": {"alertname": "A", "namespace": "shop", "replica": "1"}},
		{"labels": {"alertname": "Watchdog", "severity": "none"}}]`
	agents := &directAgents{sees: observe.Namespaces{All: true}, answers: map[telemetry.Type]string{telemetry.Alertmanager: body}}
	found, err := alertObserver(t, agents).Alerts(t.Context(), observe.Caller{}, observe.Cluster{ID: "clu_1", Name: "edge-1"})
	if err != nil || len(found.Alerts) != 3 {
		t.Fatalf("%+v, %v", found, err)
	}
	if began := time.Date(2026, 11, 1, 10, 0, 0, 0, time.UTC).UnixMicro(); found.Alerts[0].Since != began {
		t.Errorf("it began at %d, want %d", found.Alerts[0].Since, began)
	}
	for _, a := range found.Alerts {
		if a.NeedsPerson() == (a.Name == "Watchdog") {
			t.Errorf("%s needs a person: %t", a.Name, a.NeedsPerson())
		}
	}
}

// Of a store of several clusters the alerts of one are shown, also to who sees all of it, and
// none of those that do not name theirs.
func TestAlertsOfOtherClusters(t *testing.T) {
	alert := func(name, labels string) string {
		return `{"labels": {"alertname": "` + name + `"` + labels + `}, "annotations": {}, "startsAt": "2026-11-29T20:00:00Z", "status": {"state": "active", "silencedBy": [], "inhibitedBy": []}}`
	}
	body := "[" + strings.Join([]string{
		alert("Ours", `, "cluster": "edge.1", "namespace": "shop"`), alert("OursOfNone", `, "cluster": "edge.1"`), alert("Theirs", `, "cluster": "edgex1", "namespace": "shop"`),
		alert("Longer", `, "cluster": "edge.10", "namespace": "shop"`), alert("Upper", `, "cluster": "EDGE.1", "namespace": "shop"`), alert("Nobodys", `, "namespace": "shop"`), alert("Empty", `, "cluster": "", "namespace": "shop"`),
	}, ",") + "]"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(body))
	}))
	defer server.Close()
	for want, sees := range map[string]observe.Namespaces{"Ours OursOfNone": {All: true}, "Ours": {Names: []string{"shop"}}, "": {Names: []string{"post"}}} {
		o := observer(t, &seen{up: true, namespaces: sees}, &declared{settings: observe.Settings{Type: telemetry.Alertmanager, URL: server.URL, ClusterLabel: "cluster", ClusterValue: "edge.1"}})
		ask := asking("")
		found, err := o.Alerts(t.Context(), ask.Caller, ask.Cluster)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range found.Alerts {
			got = append(got, a.Name)
		}
		if slices.Sort(got); strings.Join(got, " ") != want {
			t.Errorf("%+v sees %q, want %q", sees, got, want)
		}
		// Their number is that of the store: it is for who sees all of the cluster.
		if said := strings.Contains(strings.Join(found.Notices, " "), "store has alerts without the label cluster, which are not shown (2)"); said != sees.All {
			t.Errorf("%+v is told %q", sees, found.Notices)
		}
	}
}
