package poll_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/agent/poll"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/eventually"
)

// clerk counts what is asked beside whole syncs.
type clerk struct {
	mu    sync.Mutex
	diffs []*agentv1.ReportDiffRequest
}

func (c *clerk) Diff(context.Context, apply.Service, []*unstructured.Unstructured) (apply.Comparison, error) {
	return apply.Comparison{Differences: []apply.Difference{{Action: apply.ActionCreate}}}, nil
}

func (c *clerk) Select(context.Context, apply.Service, []*unstructured.Unstructured) (apply.Result, error) {
	return apply.Result{}, nil
}

func (c *clerk) ReportDiff(_ context.Context, r *agentv1.ReportDiffRequest) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.diffs = append(c.diffs, r)
	return nil
}

func (c *clerk) answered() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.diffs)
}

func TestPausedServiceIsComparedAndNotApplied(t *testing.T) {
	h, c, k := newHub(t), newCluster(), &clerk{}
	h.put("web", "one")
	start(t, h, c, t.TempDir(), func(cfg *poll.Config) { cfg.Errands, cfg.Diffs = k, k })
	h.says("web", "Synced", "")
	before := c.count(c.passes, "web")
	h.put("web", "two", func(w *agentv1.DesiredService, s *agentv1.ServiceSpec) { w.Paused, s.DiffRequest = true, 1 })
	eventually.For(t, within, "the diff is sent", func() error {
		if n := k.answered(); n != 1 {
			return fmt.Errorf("%d diffs", n)
		}
		return nil
	})
	h.polled(5)
	if n := c.count(c.passes, "web") - before; n != 0 || k.answered() != 1 {
		t.Errorf("%d passes of a paused service, %d diffs", n, k.answered())
	}
}

func TestDryRunServiceIsNeverApplied(t *testing.T) {
	h, c, k := newHub(t), newCluster(), &clerk{}
	h.put("web", "one", func(_ *agentv1.DesiredService, s *agentv1.ServiceSpec) { s.DryRun = true })
	start(t, h, c, t.TempDir(), func(cfg *poll.Config) { cfg.Errands, cfg.Diffs = k, k })
	h.says("web", "Held", "DryRun")
	h.polled(5)
	if n := c.count(c.passes, "web"); n != 0 || k.answered() != 1 {
		t.Errorf("%d passes, %d diffs", n, k.answered())
	}
}
