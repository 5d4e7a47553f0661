package stack

import (
	"context"
	"fmt"

	"github.com/axle-cd/axle/test/kube"
	"github.com/axle-cd/axle/test/stores"
)

// observed is the cluster whose metrics, logs and alerts have stores, in this namespace.
const (
	observed   = "edge-1"
	monitoring = "monitoring"
)

// alertRules fire for a container that crashes again and again, also when a look at its
// metrics failed under load, and always once for the cluster as a whole.
const alertRules = `
groups:
- name: pods
  rules:
  - alert: ContainerCrashes
    expr: last_over_time(kube_pod_container_status_restarts_total[10s]) >= 2
    labels: {severity: critical}
    annotations:
      summary: "{{ $labels.container }} has crashed {{ $value }} times"
      runbook_url: https://runbooks.example.com/container-crashes
  - alert: Watchdog
    expr: vector(1)
    labels: {severity: none}
    annotations: {summary: The way from rules to people works}
`

// links are those of the hub's configuration.
var links = []string{
	"--link", "Grafana@cluster,service,pod,alert=https://grafana.example.com/d/all?var-cluster={cluster}&from={from}&to={to}",
	"--link", "Silence@silence=https://alertmanager.example.com/#/silences/{silence}",
}

// startStores starts the stores of a cluster and puts them into it under their usual names.
func (s *Stack) startStores(ctx context.Context) error {
	cluster := s.World.Cluster(observed)
	state, err := s.keep(stores.RunStateMetrics(ctx, cluster))
	if err != nil {
		return err
	}
	alertmanager, err := s.keep(stores.RunAlertmanager(ctx))
	if err != nil {
		return err
	}
	prometheus, err := s.keep(stores.RunPrometheus(ctx, stores.Prometheus{
		Targets: map[string]string{"kube-state-metrics": state.URL() + "/metrics"}, Kubelet: cluster, Rules: alertRules, Alertmanager: alertmanager,
	}))
	if err != nil {
		return err
	}
	victoria, err := s.keep(stores.RunVictoriaMetrics(ctx))
	if err != nil {
		return err
	}
	logs, err := s.keep(stores.RunVictoriaLogs(ctx))
	if err != nil {
		return err
	}
	for _, e := range []struct {
		name  string
		port  int32
		store *stores.Store
	}{
		{"prometheus-server", 9090, prometheus}, {"alertmanager", 9093, alertmanager}, {"victoria-logs", 9428, logs}, {"other-metrics", 8428, victoria},
	} {
		if s.stores == nil {
			s.stores = map[string]*stores.Store{}
		}
		s.stores[e.name] = e.store
		err := cluster.Expose(ctx, kube.Exposed{
			Namespace: monitoring, Name: e.name, Labels: map[string]string{"app.kubernetes.io/name": e.name}, Port: e.port, Address: e.store.Address,
		})
		if err != nil {
			return fmt.Errorf("put %s into cluster %s: %w", e.name, observed, err)
		}
	}
	return nil
}

// keep has a store closed with the stack.
func (s *Stack) keep(store *stores.Store, err error) (*stores.Store, error) {
	if err == nil {
		s.running = append(s.running, store)
	}
	return store, err
}
