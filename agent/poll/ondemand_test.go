package poll_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/agent/difference"
	"github.com/axle-cd/axle/agent/poll"
	"github.com/axle-cd/axle/agent/render"
	"github.com/axle-cd/axle/agent/tenancy"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/eventually"
)

// clerk counts requests other than full syncs.
type clerk struct {
	mu    sync.Mutex
	diffs []*agentv1.ReportDiffRequest
}

func (c *clerk) Diff(context.Context, tenancy.Permit, apply.Service, []*unstructured.Unstructured) (difference.Comparison, error) {
	return difference.Comparison{Differences: []difference.Difference{{Action: difference.Create}}}, nil
}

func (c *clerk) Select(context.Context, tenancy.Permit, apply.Service, []*unstructured.Unstructured) (apply.Result, error) {
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
	start(t, h, c, t.TempDir(), func(cfg *poll.Config) { cfg.OnDemand, cfg.Diffs = k, k })
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
	start(t, h, c, t.TempDir(), func(cfg *poll.Config) { cfg.OnDemand, cfg.Diffs = k, k })
	h.says("web", "Held", "DryRun")
	eventually.For(t, within, "the diff is sent", func() error {
		if k.answered() == 0 {
			return errors.New("it is not")
		}
		return nil
	})
	h.polled(5)
	if n := c.count(c.passes, "web"); n != 0 || k.answered() != 1 {
		t.Errorf("%d passes, %d diffs", n, k.answered())
	}
}

// A sync that a person asks for, of files and settings that are applied, is
// answered without a render and without a pass; anything else is not.
func TestASyncThatFindsNothingRendersNothing(t *testing.T) {
	h, c := newHub(t), newCluster()
	c.confirms = true
	asked := int64(0)
	put := func(content, digest string, edits ...func(*agentv1.ServiceSpec)) {
		h.put("web", content, func(w *agentv1.DesiredService, s *agentv1.ServiceSpec) {
			w.SpecDigest, s.SpecDigest, s.SyncRequest = digest, digest, asked
			for _, edit := range edits {
				edit(s)
			}
		})
	}
	applied := func(digest string) {
		t.Helper()
		eventually.For(t, within, digest+" is applied", func() error {
			h.mu.Lock()
			defer h.mu.Unlock()
			if s := h.status["web"]; s.GetSpecDigest() != digest || s.GetSync() != "Synced" {
				return fmt.Errorf("%s %s: %s", s.GetSync(), s.GetSpecDigest(), s.GetMessage())
			}
			return nil
		})
	}
	counts := func(confirmed, passes int) {
		t.Helper()
		if n, m := c.count(c.confirmed, "web"), c.count(c.passes, "web"); n != confirmed || m != passes || c.count(c.renders, "web") != passes {
			t.Errorf("%d confirmed and %d passes, not %d and %d", n, m, confirmed, passes)
		}
	}
	put("one", "s1")
	start(t, h, c, t.TempDir())
	applied("s1")
	counts(0, 1)
	asked++
	put("one", "s2")
	applied("s2")
	asked++
	put("one", "s3")
	applied("s3")
	counts(2, 1)
	asked++
	put("one", "s4", func(s *agentv1.ServiceSpec) { s.Namespace = "other" })
	applied("s4")
	counts(2, 2)
	asked++
	put("two", "s5", func(s *agentv1.ServiceSpec) { s.Namespace = "other" })
	applied("s5")
	counts(2, 3)
	// Looked-up objects may be new, and only a render can tell.
	c.set(func() { c.reads = []render.Read{{Key: render.LookupKey{Kind: "ConfigMap", Name: "x"}}} })
	put("three", "s6")
	applied("s6")
	asked++
	put("three", "s7")
	applied("s7")
	counts(2, 5)
}
