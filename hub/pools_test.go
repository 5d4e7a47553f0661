package hub_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/pool"
)

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
	h.Pools().Each(func(name string, one any) {
		row, listed := hubtest.Fillings[name]
		if !listed || !strings.Contains(string(page), "| `"+name+"` |") {
			t.Errorf("the pool %s has no row here, or none in docs/security.md", name)
			return
		}
		take := row.Taker(one)
		_, refusal := row.Fill(take)
		if !errcode.Is(refusal, errcode.Exhausted) || errcode.RetrySeconds(refusal) < 1 || !strings.Contains(refusal.Error(), "(pool "+name+")") || !strings.Contains(refusal.Error(), "share") {
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
