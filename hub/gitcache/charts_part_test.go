package gitcache_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/test/chartserver"
	"github.com/axle-cd/axle/test/gitserver"
)

func publish(s *chartserver.Server, name string, versions ...string) {
	for _, v := range versions {
		s.Publish(chartserver.Chart{Name: name, Version: v, Files: map[string]string{"templates/cm.yaml": "kind: ConfigMap # " + name + " " + v + "\n"}})
	}
}

// TestVendoredCharts checks that the charts that charts and kustomizations of a
// repository refer to come beside its files: locked, pinned or by range, once
// each, with the same result when the chart repository is gone.
func TestVendoredCharts(t *testing.T) {
	t.Parallel()
	charts := chartserver.Start(false)
	t.Cleanup(charts.Close)
	publish(charts, "redis", "17.0.0", "17.1.2", "18.0.0")
	publish(charts, "nats", "1.0.0", "1.4.0", "2.0.0")
	dep := func(name, version string) string {
		return fmt.Sprintf("- {name: %s, version: %q, repository: %q}\n", name, version, charts.URL())
	}
	w := newWorld(t, map[string]gitserver.Content{
		"app/Chart.yaml":                       "apiVersion: v2\nname: app\nversion: 1.0.0\ndependencies:\n" + dep("redis", ">=17") + dep("nats", "1.x") + dep("here", "1.0.0"),
		"app/Chart.lock":                       fmt.Sprintf("dependencies:\n- {name: redis, version: 17.1.2, repository: %q}\n", charts.URL()),
		"app/charts/here/Chart.yaml":           "name: here\nversion: 1.0.0\ndependencies:\n" + dep("gone", "1"),
		"app/templates/cm.yaml":                "kind: ConfigMap\n",
		"kust/kustomization.yaml":              fmt.Sprintf("helmCharts:\n- {name: redis, repo: %q, version: 18.0.0}\n- {name: nats, repo: %q, version: \"<2\"}\n- {name: own, repo: %q, version: 1.0.0}\n", charts.URL(), charts.URL(), charts.URL()),
		"kust/charts/own-1.0.0/own/Chart.yaml": "name: own\nversion: 1.0.0\n",
		"none/Chart.yaml":                      "name: none\nversion: 1.0.0\ndependencies:\n" + dep("redis", "99.x"),
	}, gitcache.ShortenGap)
	app := w.head(w.track("main", "app"), good)
	want := []string{"Chart.lock", "Chart.yaml", "charts/here/Chart.yaml", "charts/nats/Chart.yaml", "charts/nats/templates/cm.yaml",
		"charts/redis/Chart.yaml", "charts/redis/templates/cm.yaml", "templates/cm.yaml"}
	if diff := cmp.Diff(want, w.list(app)); diff != "" {
		t.Errorf("app (-want +got):\n%s", diff)
	}
	for file, version := range map[string]string{"charts/redis/Chart.yaml": "17.1.2", "charts/nats/Chart.yaml": "1.4.0"} {
		if text := w.content(app, file); !strings.Contains(text, version) {
			t.Errorf("%s is %s, want %s", file, text, version)
		}
	}
	kust := w.head(w.track("main", "kust"), good)
	text := w.content(kust, ".axle/vendor.yaml")
	if !strings.Contains(text, "name: redis") || !strings.Contains(text, "version: <2") || strings.Contains(text, "own") {
		t.Errorf("the map is %s", text)
	}
	w.head(w.track("main", "none"), saying(`none/Chart.yaml:4: chart "redis" of `+charts.URL()))

	// A newer version in the repository changes nothing by itself: the range
	// was settled when the tree was new.
	publish(charts, "nats", "1.9.0")
	w.commit("main", map[string]gitserver.Content{"README.md": "x"})
	w.mustRefresh()
	if again := w.head(w.track("main", "app"), good); again.Digest != app.Digest {
		t.Errorf("the content moved to %s", again.Digest)
	}
	charts.Close()
	w.forget()
	w.mustRefresh()
	if diff := cmp.Diff(want, w.list(app)); diff != "" {
		t.Errorf("made again (-want +got):\n%s", diff)
	}
}
