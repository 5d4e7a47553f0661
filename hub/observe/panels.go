package observe

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/rule"
)

// PanelsQuery asks for the panels of an object.
type PanelsQuery struct {
	// Level is cluster, workload, pod or service.
	Level string
	// Namespace and Name are those of the object, empty for a cluster.
	Namespace, Name string
	// Workloads are those of a service; empty is all pods of the namespace.
	Workloads []string
	// Start is an hour before the end when it is zero; End and Step are as in MetricQuery.
	Start, End time.Time
	Step       time.Duration
}

// Board are the panels of an object with their data.
type Board struct {
	Panels     []Panel
	Missing    []Missing
	Notices    []string
	Start, End time.Time
	Step       time.Duration
}

// Panel is a graph with its data.
type Panel struct {
	Name, Title, Unit string
	Queries           []PanelData
	// Message is a sentence when there is no data, or only some.
	Message string
}

// PanelData are the series of a query, each with its legend.
type PanelData struct {
	Sent    string
	Series  []Series
	Legends []string
}

// Missing is a source of metrics that the cluster does not have.
type Missing struct {
	Name    string
	Panels  []string
	Message string
	// Command installs it as a service; empty when there is none.
	Command string
}

// panel describes a panel: one row, whatever its level.
type panel struct {
	levels            []string
	name, title, unit string
	// from is the source of its metrics.
	from    string
	queries []drawn
}

// drawn is a query; $pods is a selector of the object's pods, $objects one of the namespace
// and $by the label that tells series apart. A $label in the legend is its value.
type drawn struct{ expr, legend string }

// The levels of panels.
const (
	levelCluster  = "cluster"
	levelWorkload = "workload"
	levelPod      = "pod"
	levelService  = "service"
)

var objectLevels = []string{levelWorkload, levelPod, levelService}

// The sources of metrics.
const (
	fromCadvisor = "cadvisor"
	fromState    = "kube-state-metrics"
	fromRequests = "requests"
)

// panels come without a dashboard, by the names that cAdvisor (the kubelet) and
// kube-state-metrics give.
var panels = []panel{
	{[]string{levelCluster}, "cpu", "CPU by namespace", "cores", fromCadvisor, []drawn{{`sum by (namespace) (rate(container_cpu_usage_seconds_total{container!=""}[$window]))`, "$namespace"}}},
	{objectLevels, "cpu", "CPU", "cores", fromCadvisor, []drawn{{`sum by (pod) (rate(container_cpu_usage_seconds_total{container!="",$pods}[$window]))`, "$pod"}}},
	{objectLevels, "throttled", "CPU throttled", "percent", fromCadvisor, []drawn{{`100 * sum by (pod) (rate(container_cpu_cfs_throttled_periods_total{container!="",$pods}[$window])) / sum by (pod) (rate(container_cpu_cfs_periods_total{container!="",$pods}[$window]))`, "$pod"}}},
	{[]string{levelCluster}, "memory", "Memory by namespace", "bytes", fromCadvisor, []drawn{{`sum by (namespace) (container_memory_working_set_bytes{container!=""})`, "$namespace"}}},
	{objectLevels, "memory", "Memory", "bytes", fromCadvisor, []drawn{{`sum by (pod) (container_memory_working_set_bytes{container!="",$pods})`, "$pod"}}},
	{[]string{levelCluster}, "restarts", "Restarts by namespace", "count", fromState, []drawn{{`sum by (namespace) (round(increase(kube_pod_container_status_restarts_total[$window])))`, "$namespace"}}},
	{objectLevels, "restarts", "Restarts", "count", fromState, []drawn{{`sum by (pod, container) (round(increase(kube_pod_container_status_restarts_total{$pods}[$window])))`, "$pod $container"}}},
	{[]string{levelCluster}, "network", "Network by namespace", "bytes/s", fromCadvisor, []drawn{{`sum by (namespace) (rate(container_network_receive_bytes_total[$window]))`, "$namespace in"}, {`sum by (namespace) (rate(container_network_transmit_bytes_total[$window]))`, "$namespace out"}}},
	{objectLevels, "network", "Network", "bytes/s", fromCadvisor, []drawn{{`sum by (pod) (rate(container_network_receive_bytes_total{$pods}[$window]))`, "$pod in"}, {`sum by (pod) (rate(container_network_transmit_bytes_total{$pods}[$window]))`, "$pod out"}}},
	{[]string{levelCluster}, "requests", "Requests by namespace", "requests/s", fromRequests, []drawn{{`sum by (namespace) (rate(http_requests_total[$window])) or sum by (namespace) (rate(http_server_request_duration_seconds_count[$window]))`, "$namespace"}}},
	{objectLevels, "requests", "Requests", "requests/s", fromRequests, []drawn{{`sum by (pod) (rate(http_requests_total{$pods}[$window])) or sum by (pod) (rate(http_server_request_duration_seconds_count{$pods}[$window]))`, "$pod"}}},
	{[]string{levelCluster}, "pods", "Pods by phase", "count", fromState, []drawn{{`sum by (phase) (kube_pod_status_phase)`, "$phase"}}},
}

// probes are series that each source of metrics has.
var probes = []struct{ name, expr, what string }{
	{fromCadvisor, `count(container_cpu_usage_seconds_total)`, "CPU, memory and network of containers come from the kubelet's cAdvisor"},
	{fromState, `count(kube_pod_status_phase) or count(kube_pod_container_status_restarts_total)`, "restarts and phases of pods come from kube-state-metrics"},
	{fromRequests, `count(http_requests_total) or count(http_server_request_duration_seconds_count)`, "requests come from the programs themselves, as http_requests_total or http_server_request_duration_seconds"},
}

// charts give the metrics of a source: that of Prometheus scrapes the kubelets.
var charts = map[string]string{fromCadvisor: "prometheus", fromState: "kube-state-metrics"}

// installs is the command that installs a chart as a service of a cluster.
func installs(cluster, chart string) string {
	return "axle services create " + cluster + "/" + chart + " --namespace monitoring --chart-url https://prometheus-community.github.io/helm-charts --chart " + chart
}

// podsOf selects the pods of an object by their names, as controllers give them.
func (q PanelsQuery) podsOf() (string, error) {
	if q.Level == levelCluster {
		if q.Namespace+q.Name != "" {
			return "", errcode.New(errcode.Invalid, "namespace: a cluster has none; leave namespace and name out")
		}
		return "", nil
	}
	if !slices.Contains(objectLevels, q.Level) {
		return "", errcode.New(errcode.Invalid, "level: %.40q is not cluster, workload, pod or service", q.Level)
	}
	if !rule.Label.Valid(q.Namespace) || !rule.Name.Valid(q.Name) {
		return "", errcode.New(errcode.Invalid, "namespace and name: %.80q and %.80q do not name a %s", q.Namespace, q.Name, q.Level)
	}
	inside, names := `namespace="`+q.Namespace+`"`, []string{q.Name}
	if q.Level == levelService {
		names = q.Workloads
	}
	if len(names) > maxWorkloads {
		return "", errcode.New(errcode.Invalid, "workloads: %d are named; at most %d are drawn together", len(names), maxWorkloads)
	}
	if len(names) == 0 {
		return inside, nil
	}
	quoted := make([]string, len(names))
	for i, name := range names {
		if !rule.Name.Valid(name) {
			return "", errcode.New(errcode.Invalid, "workloads: %.80q is no name of a workload", name)
		}
		quoted[i] = regexp.QuoteMeta(name)
	}
	pattern := strings.Join(quoted, "|")
	if q.Level != levelPod {
		pattern = "(" + pattern + ")" + suffix
	}
	return inside + `,pod=~"` + strings.ReplaceAll(pattern, `\`, `\\`) + `"`, nil
}

// maxWorkloads is how many workloads of a service are drawn together.
const maxWorkloads = 100

// suffix is what controllers add to the name of a workload for its pods: a number
// (StatefulSet), or five characters, with a hash (Deployment) or a time (CronJob) before them.
// The characters make no words, so that the pods of web-api are not those of web.
const suffix = `(-[0-9]+|(-[bcdf-hj-np-tv-xz2456789]{6,10}|-[0-9]{8,})?-[bcdf-hj-np-tv-xz2456789]{5})`

// panelsAtOnce are the queries of one board that are asked at once.
const panelsAtOnce = 4

// Panels returns the panels of an object with their data.
func (t *Target) Panels(ctx context.Context, q PanelsQuery) (*Board, error) {
	pods, err := q.podsOf()
	if err != nil {
		return nil, err
	}
	span := MetricQuery{Range: true, Start: q.Start, End: q.End, Step: q.Step}
	if span.End.IsZero() {
		span.End = t.observer.config.Clock.Now()
	}
	if span.Start.IsZero() {
		span.Start = span.End.Add(-usualRange)
	}
	if err := span.fit(span.End); err != nil {
		return nil, err
	}
	window := max(4*time.Minute, 2*span.Step).Truncate(time.Second)
	replace := strings.NewReplacer("$pods", pods, "$window", fmt.Sprintf("%ds", int(window.Seconds())))
	board := &Board{Start: span.Start, End: span.End, Step: span.Step}
	asking, inner := errgroup.WithContext(ctx)
	asking.SetLimit(panelsAtOnce)
	var mu sync.Mutex
	notice := func(r *Result) {
		mu.Lock()
		defer mu.Unlock()
		for _, n := range r.Notices {
			if !slices.Contains(board.Notices, n) {
				board.Notices = append(board.Notices, n)
			}
		}
	}
	var described []panel
	for _, p := range panels {
		if slices.Contains(p.levels, q.Level) {
			described = append(described, p)
		}
	}
	board.Panels = make([]Panel, len(described))
	for i, p := range described {
		drawing := Panel{Name: p.name, Title: p.title, Unit: p.unit, Queries: make([]PanelData, len(p.queries))}
		board.Panels[i] = drawing
		for j, d := range p.queries {
			asking.Go(func() error {
				one := span
				one.Query = replace.Replace(d.expr)
				r, err := t.Query(inner, one)
				if err != nil {
					return err
				}
				notice(r)
				board.Panels[i].Queries[j] = PanelData{r.Sent, r.Series, legends(d.legend, r.Series)}
				return nil
			})
		}
	}
	if err := asking.Wait(); err != nil {
		return nil, err
	}
	return board, t.missing(ctx, board, described)
}

// legends are those of series.
func legends(form string, all []Series) []string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = form
		for _, l := range s.Labels {
			out[i] = strings.ReplaceAll(out[i], "$"+l.Name, l.Value)
		}
	}
	return out
}

// missing leaves out the panels whose metrics are missing altogether, which are named once, with
// their source, and says of others that they have no data in the range.
func (t *Target) missing(ctx context.Context, board *Board, described []panel) error {
	gone := map[string]bool{}
	for _, probe := range probes {
		var empty []*Panel
		for i := range board.Panels {
			has := slices.ContainsFunc(board.Panels[i].Queries, func(d PanelData) bool { return len(d.Series) > 0 })
			if described[i].from == probe.name && !has {
				empty = append(empty, &board.Panels[i])
			}
		}
		if len(empty) == 0 {
			continue
		}
		r, err := t.Query(ctx, MetricQuery{Query: probe.expr, At: board.End})
		if err != nil {
			return err
		}
		if len(r.Series) > 0 {
			for _, p := range empty {
				p.Message = "no data in this range"
			}
			continue
		}
		m := Missing{Name: probe.name, Message: fmt.Sprintf("%s has no such metrics that you may see: %s", t.Source.At, probe.what)}
		for _, p := range empty {
			m.Panels, gone[p.Name] = append(m.Panels, p.Title), true
		}
		if chart := charts[probe.name]; chart != "" {
			m.Command = installs(t.ask.Cluster.Name, chart)
		}
		board.Missing = append(board.Missing, m)
	}
	board.Panels = slices.DeleteFunc(board.Panels, func(p Panel) bool { return gone[p.Name] })
	return nil
}
