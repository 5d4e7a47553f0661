package stores_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/kube"
	"github.com/axle-cd/axle/test/stores"
)

const limit = 2 * time.Minute

// Through the API server's proxy of a Service a Prometheus answers, which has what it scrapes,
// what it had before, and an alert that its Alertmanager has too.
func TestPrometheusBehindAService(t *testing.T) {
	ctx := t.Context()
	source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "greetings_total{namespace=\"shop\"} 7\n")
	}))
	defer source.Close()
	alerts := stores.NewAlertmanager(t)
	before := time.Now().Add(-6 * time.Hour).Unix()
	prometheus := stores.NewPrometheus(t, stores.Prometheus{
		Targets: map[string]string{"shop": source.URL + "/metrics"}, Alertmanager: alerts,
		Rules:   `{"groups": [{"name": "shop", "rules": [{"alert": "Greeted", "expr": "greetings_total > 1", "labels": {"severity": "warning"}}]}]}`,
		History: fmt.Sprintf("# TYPE old gauge\nold{namespace=\"shop\"} 3 %d\n# EOF\n", before),
	})
	cluster := kube.Shared(t)
	client, err := kubernetes.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	namespace := cluster.Namespace(t)
	get := func(service, path string, query url.Values) string {
		params := map[string]string{}
		for key := range query {
			params[key] = query.Get(key)
		}
		body, err := client.CoreV1().Services(namespace).ProxyGet("http", service, "80", path, params).DoRaw(ctx)
		if err != nil {
			return err.Error()
		}
		return string(body)
	}
	for name, store := range map[string]*stores.Store{"prometheus": prometheus, "alertmanager": alerts} {
		if err := cluster.Expose(ctx, kube.Exposed{Namespace: namespace, Name: name, Port: 80, Address: store.Address}); err != nil {
			t.Fatal(err)
		}
	}
	wait(t, "7", func() string { return get("prometheus", "api/v1/query", url.Values{"query": {"greetings_total"}}) })
	wait(t, `"3"`, func() string {
		return get("prometheus", "api/v1/query", url.Values{"query": {"old"}, "time": {fmt.Sprint(before + 10)}})
	})
	wait(t, "Greeted", func() string { return get("alertmanager", "api/v2/alerts", nil) })
}

func TestVictoriaMetricsHasWhatWasImported(t *testing.T) {
	store := stores.NewVictoriaMetrics(t)
	if err := store.Import(t.Context(), "greetings{namespace=\"shop\"} 5\n"); err != nil {
		t.Fatal(err)
	}
	wait(t, `"5"`, func() string { return get(store.URL() + "/api/v1/query?query=greetings") })
}

func TestVictoriaLogsHasWhatWasInserted(t *testing.T) {
	store := stores.NewVictoriaLogs(t)
	line, err := json.Marshal(map[string]string{"_time": time.Now().Format(time.RFC3339Nano), "_msg": "out of stock", "kubernetes.pod_namespace": "shop"})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Insert(t.Context(), string(line)+"\n", "kubernetes.pod_namespace"); err != nil {
		t.Fatal(err)
	}
	wait(t, "out of stock", func() string { return get(store.URL() + "/select/logsql/query?query=stock") })
}

func TestStateMetricsOfACluster(t *testing.T) {
	cluster := kube.Shared(t)
	namespace := cluster.Namespace(t)
	store := stores.NewStateMetrics(t, cluster)
	wait(t, fmt.Sprintf("kube_namespace_created{namespace=%q}", namespace), func() string { return get(store.URL() + "/metrics") })
}

func get(address string) string {
	resp, err := http.Get(address)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func wait(t *testing.T, want string, ask func() string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var last string
	err := eventually.Wait(ctx, limit, func() error {
		if last = ask(); !strings.Contains(last, want) {
			return errors.New("it is not there")
		}
		return nil
	})
	if err != nil {
		t.Fatalf("waited for %q: %v\n%.2000s", want, err, last)
	}
}
