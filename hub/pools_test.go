package hub_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/axle-cd/axle/hub/hubtest"
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
	"list_streams": byProject, "list_rows": inSteps(byProject, 1000), "tunnel_dials": byProject, "tunnel_probes": bySite,
	"registrations": byOne, "deliveries": byOne, "large_deliveries": byOne, "passwords": byOne, "login_codes": byOne,
	"login_tries": bySite, "login_guesses": bySite, "login_logouts": bySite,
	"strangers_bodies": bySite, "strangers_heads": inSteps(bySite, 64<<10), "strangers_passwords": bySite,
	"strangers_registrations": bySite, "strangers_exchanges": bySite, "strangers_records": bySite,
	"strangers_token_reviews": bySite, "operator_token_reviews": byOne,
}

// TestPoolsHaveShares fills each pool of a hub, in every way in which one tenant or stranger can:
// somebody else and an administrator get a place still, and the refusal has the pool, the
// share, the time to wait and a metric. A pool without a row fails, here and in the page.
func TestPoolsHaveShares(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	const cluster = "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\nusers: [{name: u, user: {}}]\n"
	if err := os.WriteFile(file, []byte(cluster), 0o600); err != nil {
		t.Fatal(err)
	}
	h := hubtest.New(t, hubtest.Config{Hub: hubtest.HubConfig{OperatorServiceAccount: "axle/operator", OperatorKubeconfig: file}})
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
		take := func(c pool.Caller) (*pool.Held, error) { return nil, errors.New("no pool") }
		switch p := one.(type) {
		case *pool.Places:
			take = func(c pool.Caller) (*pool.Held, error) { return p.TakeMany(c, row.steps) }
		case *pool.Rates:
			take = func(c pool.Caller) (*pool.Held, error) { return nil, p.Take(c) }
		}
		var refusal error
		for n, inARow := 0, 0; inARow < 100 && n < 100_000; n++ {
			if _, err := take(row.as(n)); err != nil {
				refusal = err
				inARow++
			} else {
				inARow = 0
			}
		}
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
