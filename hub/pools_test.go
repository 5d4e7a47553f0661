package hub_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/hub/webhook"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/pool"
)

// filling is who fills a pool, with ever more of what they can have more of, and with how many
// places at a time.
type filling struct {
	as    func(n int) pool.Caller
	steps int
}

// The ways to fill a pool: by one caller, by many tokens of one project, and by many
// networks of one site.
var (
	byOne     = filling{func(int) pool.Caller { return pool.Caller{Name: "tenant"} }, 1}
	byProject = filling{func(n int) pool.Caller { return pool.Caller{Name: fmt.Sprint("tenant ", n), Project: "tenants"} }, 1}
	bySite    = filling{func(n int) pool.Caller { return pool.Stranger(fmt.Sprintf("[2001:db8:7:%x::1]:443", n)) }, 1}
)

func inSteps(f filling, of int) filling { return filling{f.as, of} }

// fillings has a row for each pool of the hub.
var fillings = map[string]filling{
	"cluster_requests": byOne, "replica_requests": byProject, "large_heads": byProject, "logs": byProject, "object_trees": byProject,
	"telemetry_questions": byProject, "namespace_looks": byProject, "telemetry_tails": byProject,
	"calls": byProject, "list_streams": byProject, "list_rows": inSteps(byProject, 1000), "tunnel_dials": byProject, "agent_calls": byProject, "notifications": byProject, "upstream_requests": byProject, "host_requests": byProject,
	"first_copies": byProject, "object_readers": byProject, "repository_openings": byProject, "mirror_seeds": byProject, "mirror_copies": byProject, "variants": byProject, "hints": byProject, "host_first_copies": byProject, "tunnel_probes": bySite,
	"registrations": byOne, "enrolments": byOne, "deliveries": byOne, "large_deliveries": byOne, "passwords": byOne, "login_codes": byOne,
	"login_tries": bySite, "login_guesses": bySite, "login_logouts": bySite,
	"strangers_bodies": bySite, "strangers_heads": inSteps(bySite, 64<<10), "strangers_passwords": bySite,
	"strangers_registrations": bySite, "strangers_exchanges": bySite, "strangers_records": bySite,
	"signin_browsers": bySite, "signin_requests": bySite, "signin_wrong": bySite, "signin_devices": bySite, "signin_clients": byOne,
	"strangers_tokens": bySite, "absent_tokens": byOne, "strangers_token_reviews": bySite, "operator_token_reviews": byOne,
}

// TestPoolsHaveShares fills each pool of a hub, in every way in which one tenant or stranger can:
// somebody else and an administrator get a place still, and the refusal has the pool, the
// share, the time to wait and a metric. A pool without a row fails, here and in the page.
func TestPoolsHaveShares(t *testing.T) {
	h := pooled(t)
	page, err := os.ReadFile("../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	metrics := prometheus.NewRegistry()
	metrics.MustRegister(h.Metrics())
	found := 0
	h.Pools().Each(func(name string, one any) {
		found++
		row, listed := fillings[name]
		if !listed || !strings.Contains(string(page), "| `"+name+"` |") {
			t.Errorf("the pool %s has no row here, or none in docs/security.md", name)
			return
		}
		take, refusal := row.fill(one)
		if !errcode.Is(refusal, errcode.Exhausted) || errcode.RetrySeconds(refusal) < 1 || !strings.Contains(refusal.Error(), "(pool "+name+")") {
			t.Errorf("%s: who fills it gets %v", name, refusal)
		}
		for who, c := range map[string]pool.Caller{
			"another project":  {Name: "other", Project: "others"},
			"another stranger": pool.Stranger("198.51.100.7:443"),
			"an administrator": {Name: "root", Reserved: true},
		} {
			held, err := take(c)
			if err != nil {
				t.Errorf("%s: %s is refused: %v", name, who, err)
			}
			held.Leave()
		}
		if refused(t, metrics, name) == 0 {
			t.Errorf("%s: no metric has the refusal", name)
		}
	})
	if found != len(fillings) {
		t.Errorf("the hub has %d pools of %d", found, len(fillings))
	}
}

// pooled starts a hub that has every pool.
func pooled(t testing.TB) *hubtest.Hub {
	t.Helper()
	cluster := httptest.NewServer(http.HandlerFunc(reviewed))
	t.Cleanup(cluster.Close)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	config := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {server: %q}}]\nusers: [{name: u, user: {}}]\n", cluster.URL)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return hubtest.New(t, hubtest.Config{Hub: hubtest.HubConfig{OperatorServiceAccount: "axle/operator", OperatorKubeconfig: file}})
}

// reviewed answers a question about a token as the hub's cluster does: it knows the
// operator's.
func reviewed(w http.ResponseWriter, r *http.Request) {
	var review authenticationv1.TokenReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if strings.HasSuffix(review.Spec.Token, base64.RawURLEncoding.EncodeToString([]byte("operator"))) {
		review.Status = authenticationv1.TokenReviewStatus{Authenticated: true, Audiences: review.Spec.Audiences, User: authenticationv1.UserInfo{Username: "system:serviceaccount:axle:operator"}}
	}
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(review)
}

// fill takes all of a pool that can be had, and returns the last refusal, and how to take more.
func (f filling) fill(one any) (take func(pool.Caller) (*pool.Held, error), refusal error) {
	switch p := one.(type) {
	case *pool.Places:
		take = func(c pool.Caller) (*pool.Held, error) { return p.TakeMany(c, f.steps) }
	case *pool.Rates:
		take = func(c pool.Caller) (*pool.Held, error) { return nil, p.Take(c) }
	}
	for n, inARow := 0, 0; inARow < 100 && n < 100_000; n++ {
		if _, err := take(f.as(n)); err != nil {
			refusal = err
			inARow++
		} else {
			inARow = 0
		}
	}
	return take, refusal
}

// BenchmarkFullPools compares an administrator's call, and another project's delivery, while
// all pools are full, and while a stranger besides tries again without waiting, with those of
// before.
func BenchmarkFullPools(b *testing.B) {
	h := pooled(b)
	hooks := gitcache.Webhooks{WebhookStore: h.Parts().Store}
	hook, secret, err := hooks.Create(b.Context(), gitcache.Webhook{Name: "other", Provider: gitcache.Generic}, "")
	if err != nil {
		b.Fatal(err)
	}
	post := func(path, body, token string) int {
		r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, h.URL+path, strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", token)
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(body))
		r.Header.Set("X-Axle-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			b.Fatal(err)
		}
		_ = answer.Body.Close()
		return answer.StatusCode
	}
	calls := map[string]func() int{
		"admin":    func() int { return post("/axle.hub.v1.Projects/List", "{}", "Bearer "+h.AdminToken) },
		"delivery": func() int { return post(webhook.Path(hook), `{"url": "https://git.example.com/x.git"}`, "") },
	}
	round := func(call func() int) float64 {
		var took []time.Duration
		for range 500 {
			began := time.Now()
			if status := call(); status >= 300 {
				b.Fatalf("HTTP %d", status)
			}
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		return float64(took[len(took)*99/100].Microseconds())
	}
	// What else runs on the machine adds to some of the rounds.
	p99 := func(call func() int) float64 { return min(round(call), round(call), round(call)) }
	for b.Loop() {
		empty := map[string]float64{}
		for name, call := range calls {
			empty[name] = p99(call)
		}
		pools := 0.0
		h.Pools().Each(func(name string, one any) {
			pools++
			fillings[name].fill(one)
		})
		b.ReportMetric(pools, "pools/hub")
		for name, call := range calls {
			full := p99(call)
			b.ReportMetric(empty[name], name+"-empty-us")
			b.ReportMetric(full, name+"-full-us")
			b.ReportMetric(full/empty[name], name+"-full-ratio")
		}
		again, stop := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(again)
			for {
				select {
				case <-stop:
					return
				default:
					post("/axle.hub.v1.Federation/Exchange", `{"subject_token": "x"}`, "")
				}
			}
		}()
		for name, call := range calls {
			b.ReportMetric(p99(call)/empty[name], name+"-pressed-ratio")
		}
		close(stop)
		<-again
	}
}

// refused is how many requests a pool has refused, by the metrics.
func refused(t *testing.T, from prometheus.Gatherer, name string) (n float64) {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if f.GetName() == "axle_pool_refused_total" && l.GetName() == "pool" && l.GetValue() == name {
					n += m.GetCounter().GetValue()
				}
			}
		}
	}
	return n
}
