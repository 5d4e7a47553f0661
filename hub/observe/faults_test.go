package observe_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/objects"
	"github.com/axle-cd/axle/hub/observe"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/logquery"
	"github.com/axle-cd/axle/internal/podlogs"
	"github.com/axle-cd/axle/internal/telemetry"
	"github.com/axle-cd/axle/test/stores"
)

// at resolves the store of a cluster that is at a URL.
func at(t *testing.T, url string, namespaces observe.Namespaces) *observe.Target {
	t.Helper()
	o := observer(t, &seen{up: true, namespaces: namespaces}, &declared{settings: observe.Settings{Type: telemetry.Prometheus, URL: url}})
	target, err := o.Resolve(t.Context(), asking(""))
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// Each fault of a store is a sentence that says what, where and what to do.
func TestFaultsOfAStoreAreSaid(t *testing.T) {
	whole := observe.Namespaces{All: true}
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	answers := func(status int, kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}
	}
	json := "application/json"
	for name, tc := range map[string]struct {
		handler http.HandlerFunc
		code    errcode.Code
		says    []string
	}{
		"a web page":        {answers(200, "text/html; charset=utf-8", "<html>login"), errcode.Unprocessable, []string{"answers 200 with a web page", "the port", "telemetry source store"}},
		"a page of a proxy": {answers(502, "text/html", "<html>bad gateway"), errcode.Unprocessable, []string{"answers 502 with a web page"}},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+"/login", http.StatusFound)
		}, errcode.Unprocessable, []string{"redirects to " + other.URL + "/login", "does not follow"}},
		"no backend":          {answers(503, json, `{"status":"error","errorType":"unavailable","error":"not ready"}`), errcode.Unavailable, []string{"answers 503: not ready", "See whether its pods run"}},
		"no endpoint":         {answers(503, json, `{"kind":"Status","message":"no endpoints available for service \"prometheus\""}`), errcode.Unavailable, []string{"no endpoints available"}},
		"a wrong path":        {answers(404, "text/plain", "404 page not found\n"), errcode.Unprocessable, []string{"does not have this API", "path before the API"}},
		"a wrong password":    {answers(401, "text/plain", "Unauthorized"), errcode.Unprocessable, []string{"refuses the hub with 401", "auth, username"}},
		"a bad query":         {answers(400, json, `{"status":"error","errorType":"bad_data","error":"invalid parameter \"query\": 1:1: parse error"}`), errcode.Invalid, []string{"refuses the query: invalid parameter"}},
		"too much":            {answers(422, json, `{"status":"error","errorType":"execution","error":"query processing would load too many samples into memory"}`), errcode.Unprocessable, []string{"too many samples"}},
		"an error with 200":   {answers(200, json, `{"status":"error","errorType":"execution","error":"no\u001b[31m way"}`), errcode.Unprocessable, []string{"no", "way"}},
		"other JSON":          {answers(200, json, `{"hello":"world"}`), errcode.Unprocessable, []string{"something other than its API does"}},
		"no JSON":             {answers(200, json, `up 1`), errcode.Unprocessable, []string{"no JSON at byte"}},
		"half an answer":      {answers(200, json, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"a":"b"},"value":[1,"2"`), errcode.Unprocessable, []string{"ends in the middle"}},
		"a list in place":     {answers(200, json, `[1,2]`), errcode.Unprocessable, []string{"another form"}},
		"a number as a label": {answers(200, json, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"a":1},"value":[1,"2"]}]}}`), errcode.Unprocessable, []string{"in the place of another value"}},
		"a huge series":       {answers(200, json, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"a":"`+strings.Repeat("x", 5<<20)+`"},"value":[1,"2"]}]}}`), errcode.Unprocessable, []string{"larger than 4 MiB"}},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(tc.handler)
			defer server.Close()
			_, err := at(t, server.URL, whole).Query(t.Context(), observe.MetricQuery{Query: "up"})
			if !errcode.Is(err, tc.code) {
				t.Fatalf("%v", err)
			}
			for _, says := range tc.says {
				if !strings.Contains(errcode.Text(err), says) {
					t.Errorf("%v lacks %q", err, says)
				}
			}
			if strings.ContainsAny(errcode.Text(err), "\x1b\n") {
				t.Errorf("control characters in %q", errcode.Text(err))
			}
		})
	}
	if elsewhere.Load() != 0 {
		t.Error("a redirect was followed")
	}
}

// changing is an agent whose cluster takes a right away.
type changing struct {
	*seen
	has atomic.Pointer[observe.Namespaces]
}

func (c *changing) Namespaces(context.Context, observe.Caller, observe.Cluster) (observe.Namespaces, error) {
	return *c.has.Load(), nil
}

// ending is an agent that ends what is open, and lets everything new pass: a token is judged
// where a stream begins, and while it is open.
type ending struct {
	*changing
	mu   sync.Mutex
	open map[*context.CancelCauseFunc]bool
}

func (e *ending) While(ctx context.Context, _ observe.Caller, _ observe.Cluster) (context.Context, func(), error) {
	during, cancel := context.WithCancelCause(ctx)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.open[&cancel] = true
	return during, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.open, &cancel)
	}, nil
}

// end ends what is open if it is one, and reports how many are.
func (e *ending) end(why error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.open) != 1 {
		return fmt.Errorf("%d are open", len(e.open))
	}
	for cancel := range e.open {
		(*cancel)(why)
	}
	return nil
}

// A tail ends with its caller's token, also when that is revoked between two questions.
func TestATailEndsWithItsToken(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "application/stream+json")
	}))
	defer server.Close()
	agents := &ending{changing: &changing{seen: &seen{up: true}}, open: map[*context.CancelCauseFunc]bool{}}
	agents.has.Store(&observe.Namespaces{All: true})
	o, err := observe.New(observe.Config{
		Store: &declared{settings: observe.Settings{Type: telemetry.VictoriaLogs, URL: server.URL}}, Agents: agents, Sealer: sealing{}, Clock: clock.NewManual(time.Now()),
		ProjectOf: noProject, Transport: noTransport,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	target, err := o.ResolveLogs(t.Context(), asking(""))
	if err != nil {
		t.Fatal(err)
	}
	// A tail that goes on would for an hour.
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		ended <- target.Logs(ctx, logquery.Query{Name: "the query"}, true, func(podlogs.Batch) error { return nil })
	}()
	eventually.For(t, 15*time.Second, "only the tail is open, after its first question", func() error {
		if n := asked.Load(); n < 2 {
			return fmt.Errorf("the store was asked %d times", n)
		}
		return agents.end(errcode.New(errcode.Unauthorized, "the token was revoked"))
	})
	if err := <-ended; !errcode.Is(err, errcode.Unauthorized) {
		t.Errorf("the tail goes on, or ended by %v", err)
	}
}

// A tail loses what its caller may not read any more.
func TestATailHasTheRightsOfNow(t *testing.T) {
	var mu sync.Mutex
	var lines []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/stream+json")
		mu.Lock()
		defer mu.Unlock()
		// It ignores what it is asked.
		fmt.Fprint(w, strings.Join(lines, "\n"))
	}))
	defer server.Close()
	agents := &changing{seen: &seen{up: true}}
	agents.has.Store(&observe.Namespaces{Names: []string{"mine", "ours"}})
	now := clock.NewManual(time.Now())
	o, err := observe.New(observe.Config{
		Store: &declared{settings: observe.Settings{Type: telemetry.VictoriaLogs, URL: server.URL}}, Agents: agents, Sealer: sealing{}, Clock: now,
		ProjectOf: noProject, Transport: noTransport,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	target, err := o.ResolveLogs(t.Context(), asking(""))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen, ended := make(chan string, 10), make(chan error, 1)
	go func() {
		ended <- target.Logs(ctx, logquery.Query{Name: "the query"}, true, func(b podlogs.Batch) error {
			for _, l := range b.Lines {
				seen <- l.Namespace + " " + l.Text
			}
			return nil
		})
	}()
	line := func(namespace, text string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, fmt.Sprintf(`{"_time":%q,"_msg":%q,"kubernetes.pod_namespace":%q}`, now.Now().UTC().Format(time.RFC3339Nano), text, namespace))
	}
	line("ours", "before")
	if got := <-seen; got != "ours before" {
		t.Fatalf("%q", got)
	}
	agents.has.Store(&observe.Namespaces{Names: []string{"mine"}})
	now.Advance(31 * time.Second)
	// The answer that has this line was asked for with the rights of then, or of now.
	line("mine", "between")
	if got := <-seen; got != "mine between" {
		t.Fatalf("%q", got)
	}
	line("ours", "after")
	line("mine", "after")
	if got := <-seen; got != "mine after" {
		t.Errorf("%q after the right was taken away", got)
	}
	// Nobody writes a line any more, and the right to the cluster ends: so does the tail.
	agents.revoked.Store(errcode.New(errcode.Unauthorized, "the token was revoked"))
	if err := <-ended; !errcode.Is(err, errcode.Unauthorized) {
		t.Errorf("the tail ended with %v", err)
	}
}

func TestAStoreThatHangsIsLeft(t *testing.T) {
	came := make(chan struct{}, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		came <- struct{}{}
		<-r.Context().Done()
	}))
	defer server.Close()
	target := at(t, server.URL, observe.Namespaces{All: true})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		<-came
		cancel()
	}()
	if _, err := target.Query(ctx, observe.MetricQuery{Query: "up"}); err == nil {
		t.Fatal("an answer of a store that gives none")
	}
	// Whoever has gone keeps no place.
	eventually.For(t, 10*time.Second, "places", func() error { return observe.Idle(target) })
}

// A query that matches 100,000 series is cut, and says of how many.
func TestManySeriesAreCut(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"status":"success","data":{"resultType":"vector","result":[`)
		for i := range 100_000 {
			if i > 0 {
				fmt.Fprint(w, ",")
			}
			fmt.Fprintf(w, `{"metric":{"__name__":"m","i":"%d"},"value":[1700000000.5,"%d"]}`, i, i)
		}
		fmt.Fprint(w, `]}}`)
	}))
	defer server.Close()
	r, err := at(t, server.URL, observe.Namespaces{All: true}).Query(t.Context(), observe.MetricQuery{Query: "m"})
	if err != nil || len(r.Series) != 1000 || r.Cut != 99_000 || !strings.Contains(strings.Join(r.Notices, " "), "at least 100000 series, and 99000 are not shown") {
		t.Fatalf("%d series, %d cut, %v, %v", len(r.Series), r.Cut, r.Notices, err)
	}
	if s := r.Series[7]; s.Times[0] != 1700000000_500_000 || s.Values[0] != 7 {
		t.Errorf("%+v", s)
	}
}

func TestRangesAreBounded(t *testing.T) {
	target := at(t, "http://127.0.0.1:9", observe.Namespaces{All: true})
	end := time.Unix(1700000000, 0)
	for name, q := range map[string]observe.MetricQuery{
		"too many points": {Query: "up", Range: true, Start: end.Add(-24 * time.Hour), End: end, Step: time.Second},
		"no length":       {Query: "up", Range: true, Start: end, End: end},
		"the wrong way":   {Query: "up", Range: true, Start: end.Add(time.Hour), End: end},
		"years":           {Query: "up", Range: true, Start: end.Add(-1000 * 24 * time.Hour), End: end},
		"no step at all":  {Query: "up", Range: true, Start: end.Add(-time.Hour), End: end, Step: -1},
		"a tiny step":     {Query: "up", Range: true, Start: end.Add(-time.Microsecond), End: end, Step: 1},
		"an empty query":  {Query: " "},
		"a long query":    {Query: strings.Repeat("a", 20<<10)},
	} {
		if _, err := target.Query(t.Context(), q); !errcode.Is(err, errcode.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What is behind says how old it is, also when it answers nothing.
func TestAStoreThatIsBehindSaysSo(t *testing.T) {
	store := stores.NewVictoriaMetrics(t)
	then := time.Now().Add(-15 * time.Minute)
	text := ""
	for i := range 10 {
		text += fmt.Sprintf("up{namespace=\"mine\"} 1 %d\n", then.Add(-time.Duration(i)*30*time.Second).UnixMilli())
	}
	if err := store.Import(t.Context(), text); err != nil {
		t.Fatal(err)
	}
	target := at(t, store.URL(), observe.Namespaces{Names: []string{"mine"}})
	for what, q := range map[string]observe.MetricQuery{"an instant": {Query: "up"}, "a range": {Query: "up", Range: true, Start: time.Now().Add(-time.Hour)}} {
		eventually.For(t, 10*time.Second, what, func() error {
			r, err := target.Query(t.Context(), q)
			if err == nil && !strings.Contains(strings.Join(r.Notices, " "), "the newest sample is 1") {
				err = fmt.Errorf("%+v", r)
			}
			return err
		})
	}
}

func TestNothingIsAskedWithoutATunnel(t *testing.T) {
	agents := &seen{up: true, namespaces: observe.Namespaces{All: true}}
	o := observer(t, agents, &declared{settings: observe.Settings{Type: telemetry.Prometheus, URL: "http://127.0.0.1:9"}})
	for range 2 {
		if _, err := o.Resolve(t.Context(), asking("")); err != nil {
			t.Fatal(err)
		}
	}
	if agents.looks != 1 {
		t.Errorf("%d looks at namespaces", agents.looks)
	}
	agents.up = false
	if _, err := o.Resolve(t.Context(), asking("")); !errcode.Is(err, errcode.Unavailable) || !strings.Contains(errcode.Text(err), "no tunnel") {
		t.Errorf("%v", err)
	}
}

// One Service of a well-known name is used, and of several none: whoever may write one
// namespace can make another.
func TestWhatIsFoundIsUsedWhenItIsAlone(t *testing.T) {
	found := func(namespace string) telemetry.Service {
		return telemetry.Service{Type: telemetry.Prometheus, Namespace: namespace, Name: "prometheus-operated", Port: "9090", Scheme: "http"}
	}
	agents := &seen{up: true, namespaces: observe.Namespaces{All: true}, services: []telemetry.Service{found("monitoring")}}
	o := observer(t, agents, none{})
	target, err := o.Resolve(t.Context(), asking(""))
	if err != nil || target.Source.Name != "monitoring/prometheus-operated:9090" {
		t.Fatalf("%+v, %v", target, err)
	}
	agents.services = append(agents.services, found("tenant"))
	o = observer(t, agents, none{})
	if _, err := o.Resolve(t.Context(), asking("")); !errcode.Is(err, errcode.Conflict) || !strings.Contains(errcode.Text(err), "tenant/prometheus-operated:9090") {
		t.Errorf("%v", err)
	}
	if target, err := o.Resolve(t.Context(), asking("monitoring/prometheus-operated:9090")); err != nil || target.Source.At != "monitoring/prometheus-operated:9090" {
		t.Errorf("%+v, %v", target, err)
	}
	if _, err := o.Resolve(t.Context(), asking("elsewhere/prometheus:9090")); !errcode.Is(err, errcode.NotFound) {
		t.Errorf("%v", err)
	}
	agents.services = nil
	if _, err := observer(t, agents, none{}).Resolve(t.Context(), asking("")); !errcode.Is(err, errcode.NotFound) || !strings.Contains(errcode.Text(err), "axle telemetry-sources apply") {
		t.Errorf("%v", err)
	}
}

// What was found is not asked beside a declared store that may be the same one: it has not the
// labels that limit its data.
func TestWhatIsDeclaredHidesItsService(t *testing.T) {
	found := func(name string) telemetry.Service {
		return telemetry.Service{Type: telemetry.Prometheus, Namespace: "monitoring", Name: name, Port: "9090", Scheme: "http"}
	}
	agents := &seen{up: true, namespaces: observe.Namespaces{All: true}, services: []telemetry.Service{found("prometheus-operated"), found("prometheus-server")}}
	for name, tc := range map[string]struct {
		settings observe.Settings
		hidden   []string
	}{
		"the same Service":            {observe.Settings{Namespace: "monitoring", Service: "prometheus-operated", NamespaceLabel: "ns"}, []string{"prometheus-operated"}},
		"a store of several clusters": {observe.Settings{Namespace: "monitoring", Service: "thanos", ClusterLabel: "cluster", ClusterValue: "edge-1"}, []string{"prometheus-operated", "prometheus-server"}},
		"and by URL":                  {observe.Settings{URL: "https://metrics.example.com", ClusterLabel: "cluster", ClusterValue: "edge-1"}, []string{"prometheus-operated", "prometheus-server"}},
		"of another type":             {observe.Settings{Type: telemetry.Loki, URL: "https://logs.example.com", ClusterLabel: "cluster", ClusterValue: "edge-1"}, nil},
	} {
		if tc.settings.Type == "" {
			tc.settings.Type = telemetry.Prometheus
		}
		o := observer(t, agents, &declared{settings: tc.settings})
		for _, service := range []string{"prometheus-operated", "prometheus-server"} {
			_, err := o.Resolve(t.Context(), asking("monitoring/"+service+":9090"))
			if hidden := errcode.Is(err, errcode.NotFound); hidden != slices.Contains(tc.hidden, service) || err != nil && !hidden {
				t.Errorf("%s: %s: %v", name, service, err)
			}
		}
	}
}

// none declares nothing.
type none struct{ *declared }

func (none) ObjectsNaming(context.Context, string, string, int) ([]objects.Object, error) {
	return nil, nil
}
