package poll_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/axle-cd/axle/agent/poll"
	"github.com/axle-cd/axle/agent/render"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
)

// endless renders nothing of a guest until the pass ends.
type endless struct {
	*cluster
	began chan string
}

func (e endless) Render(ctx context.Context, p render.Pass) (render.Result, error) {
	if p.Project != "guest" {
		return e.cluster.Render(ctx, p)
	}
	e.began <- p.ID
	<-ctx.Done()
	return render.Result{}, ctx.Err()
}

// However many services of a guest have passes that do not end, another project's one is
// delivered meanwhile, and its next revision too.
func TestAGuestsPassesHoldNobodyUp(t *testing.T) {
	const services = 20
	h, c := newHub(t), newCluster()
	of := func(project string) func(*agentv1.DesiredService, *agentv1.ServiceSpec) {
		return func(_ *agentv1.DesiredService, s *agentv1.ServiceSpec) {
			s.Project, s.Tenancy = project, &agentv1.Tenancy{Administrators: true}
		}
	}
	for n := range services {
		h.put(fmt.Sprint("guest", n), "loops", of("guest"))
	}
	slow := endless{c, make(chan string, services)}
	start(t, h, c, t.TempDir(), func(cfg *poll.Config) { cfg.Render = slow })
	for range 4 {
		<-slow.began
	}
	for _, content := range []string{"one", "two"} {
		h.put("web", content, of("shop"))
		eventually.For(t, within, "the revision "+content, func() error {
			h.mu.Lock()
			defer h.mu.Unlock()
			if got := h.status["web"]; got.GetSync() != "Synced" || got.GetSourceRevision() != content {
				return errcode.New(errcode.Unavailable, "it is %v", got)
			}
			return nil
		})
	}
	if n := len(slow.began); n != 0 {
		t.Errorf("%d more passes of the guest run", n)
	}
}
