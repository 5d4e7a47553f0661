package proxy_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/axle-cd/axle/agent/observe"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/pool"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/test/kube"
	"github.com/axle-cd/axle/test/stores"
)

// account makes a person of the hub who may read the cluster.
func (w *whole) account(t *testing.T, name string) *sdk.Client {
	t.Helper()
	must(t)(w.client.ServiceAccounts.Create(t.Context(), connect.NewRequest(&hubv1.CreateServiceAccountRequest{Name: name})))
	must(t)(w.client.Bindings.Create(t.Context(), connect.NewRequest(&hubv1.CreateBindingRequest{
		SubjectKind: "service_account", Subject: name, Actions: []string{"read"}, Place: &hubv1.Place{Cluster: "edge"},
	})))
	token, err := w.client.ServiceAccounts.CreateToken(t.Context(), connect.NewRequest(&hubv1.CreateServiceAccountTokenRequest{Account: name, Name: "test"}))
	if err != nil {
		t.Fatal(err)
	}
	client, err := sdk.New(sdk.Config{URL: w.hub.URL, Token: token.Msg.GetSecret(), CAPEM: w.ca})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// TestMetricsThroughTheTunnel is the whole way of a query: the hub, the tunnel, the agent, its
// API server's proxy, and a real Prometheus that knows several tenants.
func TestMetricsThroughTheTunnel(t *testing.T) {
	t.Parallel()
	w := newWhole(t)
	c, err := cluster()
	if err != nil {
		t.Fatal(err)
	}
	mine, theirs, monitoring := c.Namespace(t), c.Namespace(t), c.Namespace(t)
	letRead(t, c, mine)
	target := stores.Exposition(t, func() string {
		return fmt.Sprintf("requests{namespace=%q} 7\nrequests{namespace=%q} 4711\nload{node=\"n\"} 4712\ncontainer_memory_working_set_bytes{namespace=%q,pod=\"web-0\",container=\"web\"} 1e6\n", mine, theirs, mine)
	})
	expose := func(name, address string) {
		t.Helper()
		if err := c.Expose(t.Context(), kube.Exposed{Namespace: monitoring, Name: name, Port: 9090, Address: address}); err != nil {
			t.Fatal(err)
		}
	}
	expose("prometheus-operated", stores.NewPrometheus(t, stores.Prometheus{Targets: map[string]string{"test": target}}).Address)
	tenant := w.account(t, "tenant")

	t.Run("the store is found", func(t *testing.T) {
		r, err := tenant.Observability.Sources(t.Context(), connect.NewRequest(&hubv1.ObservabilitySourcesRequest{Cluster: "edge", Type: "prometheus"}))
		if err != nil {
			t.Fatal(err)
		}
		if all := r.Msg.GetSources(); len(all) != 1 || all[0].GetName() != monitoring+"/prometheus-operated:9090" || !all[0].GetUsed() || all[0].GetDeclared() {
			t.Errorf("%v", all)
		}
		if n := r.Msg.GetNamespaces(); n.GetAll() || !slices.Contains(n.GetNames(), mine) || slices.Contains(n.GetNames(), theirs) {
			t.Errorf("%v", n)
		}
	})
	query := func(client *sdk.Client, q *hubv1.QueryMetricsRequest) (*hubv1.QueryMetricsResponse, error) {
		q.Cluster = "edge"
		r, err := client.Metrics.Query(t.Context(), connect.NewRequest(q))
		if err != nil {
			return nil, err
		}
		return r.Msg, nil
	}
	// Its first scrape is some seconds after it is ready.
	eventually.For(t, limit, "samples", func() error {
		r, err := query(w.client, &hubv1.QueryMetricsRequest{Query: "requests or load", Raw: true})
		if err == nil && (len(r.GetSeries()) != 3 || !r.GetNamespaces().GetAll()) {
			err = fmt.Errorf("an administrator sees %v", r)
		}
		return err
	})
	// A scrape that fails, as one does on a busy machine, ends a series until the next one.
	present := func(t *testing.T, client *sdk.Client, text string) (r *hubv1.QueryMetricsResponse, err error) {
		t.Helper()
		eventually.For(t, limit, "series of "+text, func() error {
			if r, err = query(client, &hubv1.QueryMetricsRequest{Query: text}); err == nil && len(r.GetSeries()) == 0 {
				return errors.New("there is none")
			}
			return nil
		})
		return r, err
	}
	t.Run("a tenant sees its own", func(t *testing.T) {
		for _, text := range []string{`requests`, `requests{namespace="` + theirs + `"} or requests`, `{__name__="requests"}`, `sum by (namespace) (requests)`} {
			r, err := present(t, tenant, text)
			if err != nil || len(r.GetSeries()) != 1 || r.GetSeries()[0].GetValues()[0] != 7 {
				t.Errorf("%s: %v, %v", text, r, err)
			}
		}
		if r, err := query(tenant, &hubv1.QueryMetricsRequest{Query: "load"}); err != nil || len(r.GetSeries()) != 0 {
			t.Errorf("%v, %v", r, err)
		}
		if _, err := query(tenant, &hubv1.QueryMetricsRequest{Query: "requests", Raw: true}); !errcode.Is(err, errcode.Forbidden) {
			t.Errorf("%v", err)
		}
		r, err := query(tenant, &hubv1.QueryMetricsRequest{Query: "requests", StartMicros: time.Now().Add(-time.Minute).UnixMicro()})
		if err != nil || r.GetResultType() != "matrix" || len(r.GetSeries()) != 1 || len(r.GetSeries()[0].GetTimes()) == 0 || r.GetStepMicros() == 0 {
			t.Errorf("%v, %v", r, err)
		}
	})
	t.Run("panels", func(t *testing.T) {
		r, err := tenant.Metrics.Panels(t.Context(), connect.NewRequest(&hubv1.MetricPanelsRequest{Cluster: "edge", Level: "workload", Namespace: mine, Name: "web", StartMicros: time.Now().Add(-time.Minute).UnixMicro()}))
		if err != nil {
			t.Fatal(err)
		}
		var memory *hubv1.MetricPanel
		for _, p := range r.Msg.GetPanels() {
			if p.GetName() == "memory" {
				memory = p
			}
		}
		if s := memory.GetQueries()[0].GetSeries(); len(s) != 1 || s[0].GetLegend() != "web-0" || memory.GetUnit() != "bytes" {
			t.Errorf("%v", memory)
		}
		missing := map[string]string{}
		for _, m := range r.Msg.GetMissing() {
			missing[m.GetName()] = m.GetCommand()
		}
		if len(missing) == 0 || !strings.HasPrefix(missing["kube-state-metrics"], "axle services ") {
			t.Errorf("%v", missing)
		}
	})
	t.Run("dashboards", func(t *testing.T) { drawDashboards(t, w, c, tenant, mine, theirs) })
	t.Run("commands", func(t *testing.T) {
		eventually.For(t, limit, "the series as CSV", func() error {
			out, errs, err := w.command(w.axle, "metrics", "query", "edge", "requests", "-o", "csv")
			if err != nil || !strings.HasPrefix(out, "SERIES,VALUE,AT\n") {
				t.Fatalf("%v\n%s%s", err, out, errs)
			}
			if !strings.Contains(out, "4711") {
				return errors.New("it is not there: " + out)
			}
			return nil
		})
		out, errs, err := w.command(w.axle, "metrics", "query", "edge", "requests", "--since", "1h", "-o", "json")
		if err != nil || !strings.Contains(out, `"resultType": "matrix"`) {
			t.Errorf("%v\n%s%s", err, out, errs)
		}
		out, errs, err = w.command(w.axle, "metrics", "sources", "edge")
		if err != nil || !strings.Contains(out, monitoring+"/prometheus-operated:9090") {
			t.Errorf("%v\n%s%s", err, out, errs)
		}
		out, errs, err = w.command(w.axle, "metrics", "query", "edge", "requests{")
		if err == nil || !strings.Contains(errs, "refuses the query") {
			t.Errorf("%v\n%s%s", err, out, errs)
		}
		t.Log(w.command(w.axle, "metrics", "query", "edge", "requests"))
	})
	t.Run("the agent checks for itself", func(t *testing.T) {
		o := observe.New(c.Config(), pool.NewSet(nil))
		viewer := observe.Viewer{User: "ann@example.com", Groups: []string{"axle:cluster:read"}, Allowed: func(string) bool { return true }}
		service := &agentv1.ObservedService{Type: "prometheus", Namespace: monitoring, Name: "prometheus-operated", Port: "9090", Scheme: "http"}
		for path, code := range map[string]errcode.Code{"/api/v1/admin/tsdb/snapshot": errcode.Forbidden, "/api/v1/query/../targets": errcode.Forbidden, "/-/reload": errcode.Forbidden, "": errcode.Forbidden} {
			if _, err := o.Get(t.Context(), viewer, &agentv1.ObserveRequest{Service: service, Path: path}); !errcode.Is(err, code) {
				t.Errorf("%s: %v", path, err)
			}
		}
		for _, bad := range []*agentv1.ObservedService{{Type: "prometheus", Namespace: "kube-system/secrets", Name: "x", Port: "1", Scheme: "http"}, {Type: "prometheus", Namespace: monitoring, Name: "x:1/proxy/..", Port: "1", Scheme: "http"}, nil} {
			if _, err := o.Get(t.Context(), viewer, &agentv1.ObserveRequest{Service: bad, Path: "/api/v1/query", Query: "query=up"}); !errcode.Is(err, errcode.Invalid) {
				t.Errorf("%v: %v", bad, err)
			}
		}
		answer, err := o.Get(t.Context(), viewer, &agentv1.ObserveRequest{Service: service, Path: "/api/v1/query", Query: "query=up"})
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%v, %v", answer, err)
		}
		answer.Body.Close()
		seen, err := o.Namespaces(t.Context(), viewer)
		if err != nil || seen.GetAll() || !slices.Contains(seen.GetNames(), mine) || slices.Contains(seen.GetNames(), theirs) {
			t.Errorf("%v, %v", seen, err)
		}
		viewer.Allowed = func(path string) bool { return !strings.Contains(path, mine) }
		if seen, err := o.Namespaces(t.Context(), viewer); err != nil || slices.Contains(seen.GetNames(), mine) {
			t.Errorf("against the policy: %v, %v", seen, err)
		}
		viewer.Groups = []string{"system:masters"}
		viewer.Allowed = func(string) bool { return false }
		if seen, err := o.Namespaces(t.Context(), viewer); err != nil || seen.GetAll() || len(seen.GetNames()) > 0 {
			t.Errorf("with no policy: %v, %v", seen, err)
		}
	})
	t.Run("a declared store", func(t *testing.T) {
		declare := func(s *hubv1.TelemetrySourceSettings) error {
			s.Project, s.Cluster, s.Type = "default", "edge", "prometheus"
			_, err := w.client.TelemetrySources.Apply(t.Context(), connect.NewRequest(&hubv1.ApplyTelemetrySourceRequest{Name: "store", Settings: s}))
			return err
		}
		redirecting := httptest.NewServer(http.RedirectHandler("https://login.example.com/", http.StatusFound))
		defer redirecting.Close()
		expose("moved", redirecting.Listener.Addr().String())
		if err := declare(&hubv1.TelemetrySourceSettings{Namespace: monitoring, Service: "moved"}); err != nil {
			t.Fatal(err)
		}
		if _, err := query(tenant, &hubv1.QueryMetricsRequest{Query: "requests"}); !errcode.Is(err, errcode.Unprocessable) || !strings.Contains(err.Error(), "redirects to https://login.example.com/") {
			t.Errorf("%v", err)
		}
		if err := declare(&hubv1.TelemetrySourceSettings{Namespace: monitoring, Service: "gone"}); err != nil {
			t.Fatal(err)
		}
		if _, err := query(tenant, &hubv1.QueryMetricsRequest{Query: "requests"}); !errcode.Is(err, errcode.Unprocessable) || !strings.Contains(err.Error(), "cluster edge has no Service gone in namespace "+monitoring) {
			t.Errorf("%v", err)
		}
		if err := declare(&hubv1.TelemetrySourceSettings{Namespace: monitoring, Service: "prometheus-operated"}); err != nil {
			t.Fatal(err)
		}
		if r, err := present(t, tenant, "requests"); err != nil || r.GetSource().GetName() != "store" || len(r.GetSeries()) != 1 {
			t.Errorf("%v, %v", r, err)
		}
		if _, err := tenant.TelemetrySources.Apply(t.Context(), connect.NewRequest(&hubv1.ApplyTelemetrySourceRequest{Name: "mine", Settings: &hubv1.TelemetrySourceSettings{Project: "default", Cluster: "edge", Type: "prometheus", Url: "https://x.example.com"}})); err == nil {
			t.Error("a reader declares a store")
		}
	})
}
