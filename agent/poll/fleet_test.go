package poll_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/agent/poll"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// counted counts how often the loop asks for applied state and health: a change of
// one service must not make it check all others.
type counted struct {
	*cluster
	states, objects atomic.Int64
}

func (c *counted) State(id string) (apply.State, bool) {
	c.states.Add(1)
	return c.cluster.State(id)
}

func (c *counted) Objects(id string) []kubeobj.Expected {
	c.objects.Add(1)
	return c.cluster.Objects(id)
}

// One service of many is upgraded, another one waits for it, and hints arrive: the
// work is limited to these few services, however many there are. The state of
// services with unchanged entries in a new list is not requested.
func TestWorkDoesNotGrowWithTheServices(t *testing.T) {
	const hints = 6
	work := func(services int) (states, objects int64) {
		h, c := newHub(t), &counted{cluster: newCluster()}
		for n := range services {
			h.put(fmt.Sprintf("s%d", n), "one", func(_ *agentv1.DesiredService, s *agentv1.ServiceSpec) {
				if n%2 == 1 {
					s.Dependencies = []*agentv1.Dependency{{Name: fmt.Sprintf("s%d", n-1)}}
				}
			})
		}
		a := start(t, h, c.cluster, t.TempDir(), func(cfg *poll.Config) { cfg.Inventory = c })
		for n := range services {
			h.says(fmt.Sprintf("s%d", n), "Synced", "")
		}
		h.polled(2)
		c.states.Store(0)
		c.objects.Store(0)
		h.put("s0", "two")
		eventually.For(t, within, "the upgrade of one service", func() error {
			if got := h.says("s0", "Synced", "").GetSourceRevision(); got != "two" {
				return fmt.Errorf("it is %s", got)
			}
			return nil
		})
		for range hints {
			a.Touched("s0")
			h.polled(1)
		}
		a.stop()
		return c.states.Load(), c.objects.Load()
	}
	smallStates, smallObjects := work(10)
	states, objects := work(210)
	if more := states - smallStates; more > 100 {
		t.Errorf("200 services more, and the loop asks for %d more states", more)
	}
	if more := objects - smallObjects; more > 60 {
		t.Errorf("200 services more, and the loop looks at the objects of %d more services (%d, %d)", more, smallObjects, objects)
	}
}
