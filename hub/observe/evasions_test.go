package observe_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/objects"
	"github.com/axle-cd/axle/hub/observe"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/telemetry"
	"github.com/axle-cd/axle/test/stores"
)

// series are those of two tenants, of a namespace whose name begins like another's, and of no
// namespace at all. Whatever is about others has the word secret in a label and a value of
// 4711 or more.
const series = `# TYPE requests_total counter
requests_total{namespace="mine",pod="web-1",path="/"} 7
requests_total{namespace="mine",pod="web-2",path="/a"} 9
requests_total{namespace="theirs",pod="secret-1",path="/"} 4711
requests_total{namespace="mine-too",pod="secret-2",path="/"} 4712
requests_total{namespace="xmine",pod="secret-3",path="/"} 4713
requests_total{pod="secret-4",path="/"} 4714
# TYPE theirs_alone gauge
theirs_alone{namespace="theirs",pod="secret-5"} 4715
# TYPE owner gauge
owner{namespace="theirs",pod="web-1",team="secret-team"} 4716
owner{namespace="mine",pod="web-1",team="us"} 1
# TYPE node_load gauge
node_load{node="secret-node"} 4717
`

// seen is an agent that says what a caller sees: what the API server decided is here.
type seen struct {
	observe.Agents
	namespaces observe.Namespaces
	up         bool
	services   []telemetry.Service
	looks      int
	// revoked is why the caller may not read the cluster any more.
	revoked atomic.Pointer[errcode.Error]
}

func (s *seen) While(ctx context.Context, _ observe.Caller, _ observe.Cluster) (context.Context, func(), error) {
	if why := s.revoked.Load(); why != nil {
		return nil, nil, why
	}
	return ctx, func() {}, nil
}

func (s *seen) Up(string) bool { return s.up }

func (s *seen) Namespaces(context.Context, observe.Caller, observe.Cluster) (observe.Namespaces, error) {
	s.looks++
	return s.namespaces, nil
}

func (s *seen) Services(context.Context, observe.Caller, observe.Cluster) ([]telemetry.Service, error) {
	return s.services, nil
}

// declared is the one source of the cluster.
type declared struct {
	settings observe.Settings
	sealed   string
}

func (d *declared) ObjectsNaming(context.Context, string, string, int) ([]objects.Object, error) {
	spec, err := json.Marshal(d.settings)
	return []objects.Object{{ID: "tel_1", Name: "store", Spec: spec, ProjectID: "prj_1"}}, err
}
func (d *declared) ObjectSecret(context.Context, string) (string, error) { return d.sealed, nil }
func (d *declared) PutObjectSecret(_ context.Context, _, sealed string) error {
	d.sealed = sealed
	return nil
}

// sealing is no secret here.
type sealing struct{}

func (sealing) Seal(plain []byte, purpose string) string { return purpose + "\n" + string(plain) }
func (sealing) Open(sealed, purpose string) ([]byte, error) {
	plain, ok := strings.CutPrefix(sealed, purpose+"\n")
	if !ok {
		return nil, fmt.Errorf("sealed for something else than %s", purpose)
	}
	return []byte(plain), nil
}

func observer(t *testing.T, agents observe.Agents, store observe.Store) *observe.Observer {
	t.Helper()
	o, err := observe.New(observe.Config{
		Store: store, Agents: agents, Sealer: sealing{}, ProjectOf: func(context.Context, string) (string, error) { return "prj_1", nil },
		Transport: func(trusted *tls.Config) *http.Transport { return &http.Transport{TLSClientConfig: trusted} },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.Close)
	return o
}

func asking(source string) observe.Ask {
	return observe.Ask{
		Caller: observe.Caller{Principal: identity.Principal{Kind: identity.KindUser, ID: "usr_1", Name: "ann@example.com"}}, Source: source, Type: telemetry.Prometheus,
		Cluster: observe.Cluster{ID: "cls_1", Name: "edge-1", Handle: "edge-1", ProjectID: "prj_1"},
	}
}

// evasions are ways to ask about another tenant. Each is refused, or answers without anything
// of theirs.
var evasions = []string{
	`requests_total`,
	`requests_total{namespace="theirs"}`,
	`requests_total{namespace=~"theirs"}`,
	`requests_total{namespace=~".*"}`,
	`requests_total{namespace=~".+"}`,
	`requests_total{namespace!="mine"}`,
	`requests_total{namespace!=""}`,
	`requests_total{namespace=""}`,
	`requests_total{namespace=~""}`,
	`requests_total{namespace=~"|theirs"}`,
	`requests_total{namespace!~"mine"}`,
	`requests_total{namespace=~"mine|theirs"}`,
	`requests_total{namespace="theirs",namespace="mine"}`,
	`requests_total{namespace="mine",namespace="theirs"}`,
	`requests_total{namespace=~"(?i)THEIRS"}`,
	`requests_total{namespace="\x74heirs"}`,
	`requests_total{namespace="\u0074heirs"}`,
	"requests_total{namespace=`theirs`}",
	`requests_total{'namespace'='theirs'}`,
	`{"namespace"="theirs"}`,
	`{"requests_total","namespace"="theirs"}`,
	`{"requests_total"}`,
	`{__name__="requests_total",namespace="theirs"}`,
	`{__name__=~".+"}`,
	`{__name__=~"requests.*|theirs.*|node.*"}`,
	`{__name__!=""}`,
	`{namespace="theirs"}`,
	`{pod=~"secret.*"}`,
	`{pod=~"secret.*",namespace!="mine"}`,
	`theirs_alone`,
	`node_load`,
	`requests_total{namespace="mine"} or requests_total{namespace="theirs"}`,
	`requests_total{namespace="mine"} or theirs_alone`,
	`vector(1) or theirs_alone`,
	`requests_total unless requests_total{namespace="mine"}`,
	`requests_total{namespace="theirs"} and on() vector(1)`,
	`sum(requests_total{namespace="theirs"})`,
	`sum by (namespace, pod) (requests_total)`,
	`sum without (namespace) (requests_total)`,
	`topk(10, requests_total)`,
	`count_values("v", requests_total)`,
	`max(sum by (pod) (max by (pod, namespace) (requests_total)))`,
	`max_over_time(requests_total{namespace="theirs"}[5m])`,
	`max_over_time(sum(requests_total{namespace="theirs"})[5m:1s])`,
	`max_over_time((requests_total)[5m:1s])`,
	`max_over_time(max_over_time(requests_total[1m:1s])[5m:1s])`,
	`rate(requests_total{namespace=~"th.*"}[1m])`,
	`label_replace(requests_total, "namespace", "mine", "namespace", ".*")`,
	`label_replace(theirs_alone, "namespace", "mine", "", "")`,
	`label_join(requests_total, "namespace", "", "pod")`,
	`absent(requests_total{namespace="theirs"}) * 0 + 1`,
	`absent(theirs_alone) or theirs_alone`,
	`absent_over_time(theirs_alone[5m]) or theirs_alone`,
	`requests_total * on(pod) group_left(team) owner`,
	`requests_total{namespace="mine"} * on(pod) group_left(team) owner{namespace="theirs"}`,
	`count(owner) by (team)`,
	`requests_total offset 1s`,
	`requests_total{namespace="theirs"} offset -1s`,
	`requests_total @ end()`,
	`requests_total{namespace="theirs"} @ 1e9`,
	`max_over_time(requests_total{namespace="theirs"}[5m] @ end())`,
	`-requests_total{namespace="theirs"}`,
	`(((requests_total{namespace="theirs"})))`,
	`scalar(theirs_alone)`,
	`vector(scalar(sum(theirs_alone)))`,
	`timestamp(theirs_alone)`,
	`sort_desc(requests_total)`,
	`histogram_quantile(0.5, requests_total)`,
	`quantile(1, requests_total)`,
	`clamp_max(theirs_alone, scalar(node_load))`,
	// The number of an aggregation is a query of its own.
	`quantile(scalar(theirs_alone) / 10000, label_replace(vector(0), "a", "1", "", "") or label_replace(vector(10000), "a", "2", "", ""))`,
	`quantile(scalar(quantile(scalar(theirs_alone) / 10000, label_replace(vector(0), "a", "1", "", "") or label_replace(vector(10000), "a", "2", "", ""))) / 10000, label_replace(vector(0), "a", "1", "", "") or label_replace(vector(10000), "a", "2", "", ""))`,
	`topk(scalar(theirs_alone) > bool 0, vector(4711) and on() theirs_alone)`,
	`requests_total # {namespace="mine"}`,
	"requests_total{namespace=\"mine\"}\nor theirs_alone",
	// MetricsQL, which Prometheus' parser does not know.
	`requests_total{namespace="mine" or namespace="theirs"}`,
	`{namespace="theirs" or pod!=""}`,
	`WITH (x = theirs_alone) x`,
	`union(requests_total, theirs_alone)`,
	`(requests_total, theirs_alone)`,
	`label_set(theirs_alone, "namespace", "mine")`,
	`theirs_alone default 1`,
	`requests_total keep_metric_names`,
	`{__graphite__="theirs_alone"}`,
	`{__graphite__="*"}`,
	`{__graphite__="*",namespace="theirs"}`,
	`{__name__="theirs_alone",__graphite__=""}`,
	`rollup(theirs_alone[1m])`,
	`info(requests_total)`,
	`info(requests_total, {namespace="theirs"})`,
	`limitk(10, requests_total)`,
}

// leaks is what of an answer is of others: a label, or a value that only theirs make.
func leaks(r *observe.Result) (all []string) {
	for _, s := range r.Series {
		for _, l := range s.Labels {
			// A name that the query itself gives is no secret: absent returns it.
			if strings.Contains(l.Value, "secret") {
				all = append(all, l.Name+"="+l.Value)
			}
		}
		for _, v := range s.Values {
			if v >= 4000 && v < 20000 || v <= -4000 && v > -20000 {
				all = append(all, fmt.Sprint(v))
			}
		}
	}
	return all
}

func TestNobodySeesMetricsOfOthers(t *testing.T) {
	victoria := stores.NewVictoriaMetrics(t)
	if err := victoria.Import(t.Context(), series); err != nil {
		t.Fatal(err)
	}
	scraped := stores.NewPrometheus(t, stores.Prometheus{Targets: map[string]string{"test": stores.Exposition(t, func() string { return series })}})
	for name, url := range map[string]string{"Prometheus": scraped.URL(), "VictoriaMetrics": victoria.URL()} {
		t.Run(name, func(t *testing.T) {
			agents := &seen{up: true, namespaces: observe.Namespaces{Names: []string{"mine"}}}
			o := observer(t, agents, &declared{settings: observe.Settings{Type: telemetry.Prometheus, URL: url}})
			mine, err := o.Resolve(t.Context(), asking(""))
			if err != nil {
				t.Fatal(err)
			}
			// Prometheus has all of it with its first scrape.
			eventually.For(t, 30*time.Second, "what is mine", func() error {
				r, err := mine.Query(t.Context(), observe.MetricQuery{Query: `sum(requests_total)`})
				if err == nil && (len(r.Series) != 1 || r.Series[0].Values[0] != 16) {
					err = fmt.Errorf("%+v", r)
				}
				return err
			})
			answered := 0
			for _, query := range evasions {
				r, err := mine.Query(t.Context(), observe.MetricQuery{Query: query})
				if err != nil {
					if code := errcode.Of(err); code != errcode.Invalid && code != errcode.Unprocessable {
						t.Errorf("%s: %v", query, err)
					}
					continue
				}
				answered++
				if all := leaks(r); len(all) > 0 {
					t.Errorf("%s answers %v, sent as %s", query, all, r.Sent)
				}
			}
			if answered < len(evasions)/2 {
				t.Errorf("%d of %d queries were answered", answered, len(evasions))
			}
			whole := *mine
			whole.Namespaces = observe.Namespaces{All: true}
			if r, err := whole.Query(t.Context(), observe.MetricQuery{Query: `requests_total or node_load`, Raw: true}); err != nil || len(leaks(r)) == 0 {
				t.Errorf("the whole cluster: %+v, %v", r, err)
			}
			if _, err := mine.Query(t.Context(), observe.MetricQuery{Query: `up`, Raw: true}); !errcode.Is(err, errcode.Forbidden) {
				t.Errorf("a raw query of a tenant: %v", err)
			}
			none := *mine
			none.Namespaces = observe.Namespaces{}
			for _, query := range []string{`requests_total`, `requests_total{namespace=""}`, `{__name__=~".+"}`, `{namespace=~"-|theirs"}`} {
				if r, err := none.Query(t.Context(), observe.MetricQuery{Query: query}); err != nil || len(r.Series) > 0 {
					t.Errorf("whoever sees nothing gets of %s: %+v, %v", query, r, err)
				}
			}
			for _, match := range [][]string{{`requests_total`}, {`{namespace="theirs"}`}, {`{__name__=~".+"}`}, {`{namespace="mine"}`, `theirs_alone`}, {`{"namespace"="theirs"}`}, {`{namespace!="mine",pod!=""}`}} {
				found, _, _, err := mine.Series(t.Context(), observe.SeriesQuery{Match: match})
				if err != nil || len(leaks(&observe.Result{Series: found})) > 0 {
					t.Errorf("series of %s: %v, %v", match, found, err)
				}
			}
			for label, want := range map[string][]string{"namespace": {"mine"}, "pod": {"web-1", "web-2"}, "team": {"us"}, "node": nil} {
				for _, match := range [][]string{nil, {`{pod!=""}`}} {
					got, _, err := mine.LabelValues(t.Context(), observe.SeriesQuery{Label: label, Match: match})
					if slices.Sort(got); err != nil || !slices.Equal(got, want) && !(label == "node" && len(got) == 0) {
						t.Errorf("values of %s by %s: %v, %v", label, match, got, err)
					}
				}
			}
			if got, _, err := mine.LabelValues(t.Context(), observe.SeriesQuery{}); err != nil || slices.Contains(got, "node") || !slices.Contains(got, "pod") {
				t.Errorf("names of labels: %v, %v", got, err)
			}
		})
	}
}

// clusters are series of one cluster, edge.1, and of others: whatever is about these has the
// word secret, or a value of 4711 or more.
const clusters = `# TYPE requests_total counter
requests_total{cluster="edge.1",namespace="mine",pod="web-1"} 7
requests_total{cluster="edge.1",namespace="theirs",pod="web-2"} 9
requests_total{cluster="theirs",namespace="mine",pod="secret-1"} 4711
requests_total{cluster="edgex1",namespace="mine",pod="secret-2"} 4712
requests_total{cluster="edge.10",namespace="mine",pod="secret-3"} 4713
requests_total{cluster="EDGE.1",namespace="mine",pod="secret-4"} 4714
requests_total{namespace="mine",pod="secret-5"} 4715
# TYPE theirs_alone gauge
theirs_alone{cluster="theirs",namespace="mine",pod="secret-6"} 4716
# TYPE owner gauge
owner{cluster="theirs",namespace="mine",pod="web-1",team="secret-team"} 4717
owner{cluster="edge.1",namespace="mine",pod="web-1",team="us"} 1
# TYPE node_load gauge
node_load{cluster="theirs",node="secret-node"} 4718
node_load{cluster="edge.1",node="ours"} 3
`

// In a store of several clusters nobody sees another one, also not who sees all of theirs.
func TestNobodySeesMetricsOfOtherClusters(t *testing.T) {
	victoria := stores.NewVictoriaMetrics(t)
	if err := victoria.Import(t.Context(), clusters); err != nil {
		t.Fatal(err)
	}
	scraped := stores.NewPrometheus(t, stores.Prometheus{Targets: map[string]string{"test": stores.Exposition(t, func() string { return clusters })}})
	var all []string
	for _, query := range evasions {
		all = append(all, query, strings.ReplaceAll(strings.ReplaceAll(query, "namespace", "cluster"), "mine", "edge.1"))
	}
	for name, url := range map[string]string{"Prometheus": scraped.URL(), "VictoriaMetrics": victoria.URL()} {
		for who, sees := range map[string]struct {
			namespaces observe.Namespaces
			sum        float64
		}{"everything": {observe.Namespaces{All: true}, 16}, "a namespace": {observe.Namespaces{Names: []string{"mine"}}, 7}, "nothing": {observe.Namespaces{}, 0}} {
			t.Run(name+" for who sees "+who, func(t *testing.T) {
				store := &declared{settings: observe.Settings{Type: telemetry.Prometheus, URL: url, ClusterLabel: "cluster", ClusterValue: "edge.1"}}
				target, err := observer(t, &seen{up: true, namespaces: sees.namespaces}, store).Resolve(t.Context(), asking(""))
				if err != nil {
					t.Fatal(err)
				}
				eventually.For(t, 30*time.Second, "what is seen", func() error {
					r, err := target.Query(t.Context(), observe.MetricQuery{Query: `sum(requests_total) or vector(0)`})
					if err == nil && (len(r.Series) != 1 || r.Series[0].Values[0] != sees.sum) {
						err = fmt.Errorf("%+v", r)
					}
					return err
				})
				answered := 0
				for _, query := range all {
					r, err := target.Query(t.Context(), observe.MetricQuery{Query: query})
					if err != nil {
						if code := errcode.Of(err); code != errcode.Invalid && code != errcode.Unprocessable {
							t.Errorf("%s: %v", query, err)
						}
						continue
					}
					answered++
					if found := leaks(r); len(found) > 0 {
						t.Errorf("%s answers %v, sent as %s", query, found, r.Sent)
					}
				}
				if answered < len(all)/2 {
					t.Errorf("%d of %d queries were answered", answered, len(all))
				}
				if _, err := target.Query(t.Context(), observe.MetricQuery{Query: `up`, Raw: true}); !errcode.Is(err, errcode.Forbidden) {
					t.Errorf("a raw query: %v", err)
				}
				// What has no selector is limited to nothing.
				if r, err := target.Query(t.Context(), observe.MetricQuery{Query: `1 + 1`}); err != nil || len(r.Series) != 1 || r.Series[0].Values[0] != 2 {
					t.Errorf("1 + 1: %+v, %v", r, err)
				}
				for _, match := range [][]string{{`requests_total`}, {`{cluster="theirs"}`}, {`{cluster!="edge.1",pod!=""}`}, {`{__name__=~".+"}`}, {`{cluster="edge.1"}`, `theirs_alone`}} {
					found, _, _, err := target.Series(t.Context(), observe.SeriesQuery{Match: match})
					if err != nil || len(leaks(&observe.Result{Series: found})) > 0 {
						t.Errorf("series of %s: %v, %v", match, found, err)
					}
				}
				for _, label := range []string{"cluster", "pod", "team", "node"} {
					got, _, err := target.LabelValues(t.Context(), observe.SeriesQuery{Label: label})
					if err != nil || strings.Contains(strings.Join(got, " "), "secret") || label == "cluster" && sees.sum > 0 && !slices.Equal(got, []string{"edge.1"}) {
						t.Errorf("values of %s: %v, %v", label, got, err)
					}
				}
			})
		}
	}
}
