package gitcache_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/gitserver"
)

// A repository whose upstream fails counts as failed, even after a restart,
// until it can be read again.
func TestFailingRepositoriesAreCounted(t *testing.T) {
	var registry *prometheus.Registry
	counted := func(c *gitcache.Config) {
		registry = prometheus.NewRegistry()
		c.Registerer = registry
	}
	w := newWorld(t, map[string]gitserver.Content{"a/cm.yaml": "one"}, counted, gitcache.ShortenGap)
	want := func(what string, failed, pullable float64) {
		t.Helper()
		eventually.For(t, 30*time.Second, what, func() error {
			families, err := registry.Gather()
			if err != nil {
				return err
			}
			got := map[string]float64{}
			for _, family := range families {
				if family.GetName() == "axle_gitcache_repositories" {
					for _, m := range family.GetMetric() {
						got[m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue()
					}
				}
			}
			if got["failed"] != failed || got["pullable"] != pullable {
				return fmt.Errorf("%v, want %v failed and %v pullable", got, failed, pullable)
			}
			return nil
		})
	}
	w.head(w.track("main", "a"), good)
	want("while all is well", 0, 1)
	w.git.SetFault(repoName, gitserver.Fault{Status: 500})
	if err := w.refresh(); err == nil {
		t.Fatal("a refresh went well during the outage")
	}
	want("during an outage", 1, 0)
	w.stop()
	w.start(counted, gitcache.ShortenGap)
	want("after a restart", 1, 0)
	w.git.SetFault(repoName, gitserver.Fault{})
	w.mustRefresh()
	want("afterwards", 0, 1)
}
