package cli_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/test/gitserver"
)

// pooled are the files of two cluster templates whose clusters are never made: their
// management cluster has no agent. Clusters of bare have no node pools.
func pooled() map[string]gitserver.Content {
	const class = `apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: play}
spec:
  workers: {machineDeployments: [{class: workers}]}
`
	const version = `"version": {"type": "string", "default": "v1.37.0"}`
	return map[string]gitserver.Content{
		"play/template.yaml": "name: play\n", "bare/template.yaml": "name: bare\n", "play/class/class.yaml": class, "bare/class/class.yaml": class,
		"bare/schema.json": `{"type": "object", "properties": {` + version + `}}`,
		"play/schema.json": `{"type": "object", "properties": {` + version + `, "nodePools": {"type": "array", "default": [{"name": "first"}], "items": {"type": "object",
			"dependentRequired": {"minSize": ["maxSize"], "maxSize": ["minSize"]}, "properties": {"name": {"type": "string"}, "count": {"type": "integer", "maximum": 20, "default": 1},
			"minSize": {"type": "integer", "minimum": 1}, "maxSize": {"type": "integer", "maximum": 20}}}}}}`,
	}
}

// newPools is a shell with clusters of those templates: shop-1, which has the pools of its
// template, bare-1 without any, and plain, which somebody else made.
func newPools(t *testing.T, config hubtest.HubConfig) *shell {
	t.Helper()
	git, err := gitserver.Start(t.Context(), gitserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = git.Close() })
	if err := git.Create(t.Context(), "fleet"); err != nil {
		t.Fatal(err)
	}
	commit, err := git.Commit(t.Context(), "fleet", "main", "templates", pooled())
	if err != nil {
		t.Fatal(err)
	}
	config.AllowHTTPUpstreams = true
	s := shellOf(t, hubtest.New(t, hubtest.Config{Hub: config}))
	for _, line := range []string{"repos add fleet " + git.URL("fleet"), "clusters create mgmt", "clusters create plain", "projects create shop"} {
		s.exits(0, line)
	}
	for _, name := range []string{"play", "bare"} {
		s.exits(0, "clusters templates apply "+name+" --repository fleet --ref "+commit+" --folder "+name+" --kinds Cluster.cluster.x-k8s.io,ClusterClass.cluster.x-k8s.io --management-clusters mgmt --projects shop")
	}
	s.exits(0, "clusters create shop-1 --template play --project shop")
	s.exits(0, "clusters create bare-1 --template bare --project shop")
	return s
}

// given are the variables that the hub was given for shop-1.
func (s *shell) given() string {
	s.Helper()
	return s.exits(0, "clusters get shop-1 -o jsonpath={.origin.given}")
}

// A pool is scaled by a number or by the bounds of an autoscaler, and nothing else changes.
func TestAPoolIsScaled(t *testing.T) {
	s := newPools(t, hubtest.HubConfig{})
	const scale = "clusters pools scale shop-1 "
	for _, step := range []struct {
		line, says, given string
	}{
		{"first --replicas 3 --dry-run", "dry run, nothing stored", `{}`},
		{"first --replicas 3", "Machines: ", `{"nodePools":[{"count":3,"name":"first"}]}`},
		{"first --min 2 --max 5", "2 to 5", `{"nodePools":[{"count":3,"maxSize":5,"minSize":2,"name":"first"}]}`},
		{"first --max 9", "2 to 9", `{"nodePools":[{"count":3,"maxSize":9,"minSize":2,"name":"first"}]}`},
		{"first --replicas 0 -o json", `"count": 0`, `{"nodePools":[{"count":0,"name":"first"}]}`},
	} {
		s.exits(0, scale+step.line, step.says)
		if given := strings.TrimSpace(s.given()); given != step.given {
			t.Fatalf("after %s the hub has %s, want %s", step.line, given, step.given)
		}
	}
	s.exits(0, scale+"first --replicas 7 --dry-run -o json", `"count": 7`)
	for position, want := range map[string]string{"": "shop-1\n", "shop-1": "first\n"} {
		args := append(strings.Fields("__complete clusters pools scale "+position), "")
		if _, out, errs := s.runs(args...); !strings.Contains(out, want) {
			t.Errorf("after %q: %q, want %q %s", position, out, want, errs)
		}
	}
}

// A size that cannot be is refused by what is wrong with it, and changes nothing.
func TestAPoolThatCannotBeScaled(t *testing.T) {
	s := newPools(t, hubtest.HubConfig{})
	s.exits(0, "projects update shop --max-machines 5")
	const scale = "clusters pools scale "
	for _, c := range []struct {
		exit       int
		line, says string
	}{
		{2, "shop-1 first", "replicas"},
		{2, "shop-1 first --replicas 1 --min 1", "replicas"},
		{2, "shop-1 first --replicas -1", "replicas"},
		{2, "shop-1 --replicas 1", "POOL"},
		{4, "shop-1 frist --replicas 1", `the cluster has no node pool "frist"; it has first`},
		{4, "shop-2 first --replicas 1", "shop-2"},
		{1, "bare-1 first --replicas 1", "the template has no variable nodePools"},
		{1, "plain first --replicas 1", "was not made from a template"},
		{1, "shop-1 first --replicas 21", "variables.nodePools.0.count"},
		{1, "shop-1 first --min 0 --max 3", "variables.nodePools.0.minSize"},
		{1, "shop-1 first --min 2", "maxSize"},
		{1, "shop-1 first --min 3 --max 2", "at least 3 machines are more than at most 2"},
		{5, "shop-1 first --replicas 6", "project shop has 1 machines, and its limit is 5; this would be 5 more"},
		{5, "shop-1 first --min 1 --max 6 --dry-run", "its limit is 5"},
	} {
		s.exits(c.exit, scale+c.line, c.says)
		if given := strings.TrimSpace(s.given()); given != "{}" {
			t.Fatalf("%s changed it to %s", c.line, given)
		}
	}

	// Whoever may not change the cluster may not scale it either, or try to.
	s.exits(0, "serviceaccounts create ci")
	s.exits(0, "auth bind --action read --service-account ci --project shop")
	t.Setenv("AXLE_TOKEN", strings.TrimSpace(s.exits(0, "serviceaccounts token ci")))
	s.exits(0, "clusters pools list shop-1", "first")
	for _, dry := range []string{"", " --dry-run"} {
		s.exits(5, scale+"shop-1 first --replicas 2"+dry)
	}
}

// Whoever scales one pool undoes nothing of who scales another one, or changes another
// variable, at the same time.
func TestPoolsAreScaledAtOnce(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) { scaledAtOnce(t, hubtest.HubConfig{}) })
	t.Run("Postgres", func(t *testing.T) {
		scaledAtOnce(t, hubtest.HubConfig{DatabaseURL: hubtest.Postgres(t), KeyFile: filepath.Join(t.TempDir(), "hub.key")})
	})
}

func scaledAtOnce(t *testing.T, config hubtest.HubConfig) {
	s := newPools(t, config)
	s.exits(0, `clusters update shop-1 --set nodePools=[{"name":"a"},{"name":"b"},{"name":"c"},{"name":"d"}]`)
	lines := []string{"clusters update shop-1 --set version=v1.37.1"}
	var want []string
	for i, name := range []string{"a", "b", "c", "d"} {
		lines = append(lines, fmt.Sprintf("clusters pools scale shop-1 %s --replicas %d", name, i+2))
		want = append(want, fmt.Sprintf(`{"count":%d,"name":"%s"}`, i+2, name))
	}
	var all sync.WaitGroup
	for _, line := range lines {
		all.Go(func() {
			if code, out, errs := s.run(line); code != 0 {
				t.Errorf("axle %s: exit %d: %s%s", line, code, out, errs)
			}
		})
	}
	all.Wait()
	if given, want := strings.TrimSpace(s.given()), `{"nodePools":[`+strings.Join(want, ",")+`],"version":"v1.37.1"}`; given != want {
		t.Errorf("the hub has %s, want %s", given, want)
	}
}
