package agent

import (
	"crypto/ed25519"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/axle-cd/axle/agent/identity"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/pool"
	"github.com/axle-cd/axle/internal/seal"
)

// TestPoolsOfAnAgentHaveShares fills each pool of an agent as one project: another one gets a
// place still. A pool without a row in docs/security.md, or without metrics, fails.
func TestPoolsOfAnAgentHaveShares(t *testing.T) {
	page, err := os.ReadFile("../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	a := assembled(t)
	found := map[string]bool{}
	a.pools.Each(func(name string, one any) {
		found[name] = true
		if !strings.Contains(string(page), "| `"+name+"` |") {
			t.Errorf("the pool %s has no row in docs/security.md", name)
		}
		places := one.(*pool.Places)
		var refusal error
		for refusal == nil {
			_, refusal = places.Take(pool.Caller{Name: "guest"})
		}
		if !errcode.Is(refusal, errcode.Exhausted) || errcode.RetrySeconds(refusal) < 1 || !strings.Contains(refusal.Error(), "(pool "+name+")") || !strings.Contains(refusal.Error(), "share") {
			t.Errorf("%s: who fills it gets %v", name, refusal)
		}
		if _, err := places.Take(pool.Caller{Name: "other"}); err != nil {
			t.Errorf("%s: another project is refused: %v", name, err)
		}
	})
	for _, name := range []string{"passes", "renders", "heals", "test_runs", "made_clusters", "readiness_reports", "telemetry_requests", "namespace_reviews"} {
		if !found[name] {
			t.Errorf("there is no pool %s", name)
		}
	}
	families, err := prometheus.Gatherers{a.registry, a.measured.Load()}.Gather()
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "axle_pool_used" && m.GetGauge().GetValue() > 1 {
				used[m.GetLabel()[0].GetValue()] = true
			}
		}
	}
	if fmt.Sprint(used) != fmt.Sprint(found) {
		t.Errorf("metrics have %v of %v", used, found)
	}
}

// assembled is an agent with all its parts, of which none runs.
func assembled(t *testing.T) *Agent {
	t.Helper()
	dir := t.TempDir()
	kubeconfig, program := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "axle-render")
	const cluster = "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\nusers: [{name: u, user: {}}]\n"
	for path, text := range map[string]string{kubeconfig: cluster, program: "#!/bin/sh\n"} {
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	a, err := New(Config{HubURL: "https://127.0.0.1:1", Kubeconfig: kubeconfig, DataDir: dir, RenderBinary: program})
	if err != nil {
		t.Fatal(err)
	}
	renderer, err := a.renderer()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(renderer.Close)
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.assemble(&identity.Identity{ClusterID: "cl_1", SealKey: string(seal.NewKey()), SigningKeys: map[string]ed25519.PublicKey{"k": public}}, false, renderer); err != nil {
		t.Fatal(err)
	}
	return a
}
