package poll_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/axle-cd/axle/agent/poll"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/eventually"
)

// healer has put one object back.
type healer struct {
	mu     sync.Mutex
	untold []*agentv1.Heal
}

func (h *healer) Heals() []*agentv1.Heal {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.untold
}

func (h *healer) HealsTaken(number int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if number == 7 {
		h.untold = nil
	}
}

// Heals are reported until a report is answered, even if the status of the service
// did not change.
func TestHealsAreToldUntilTheyAreTaken(t *testing.T) {
	h, c := newHub(t), newCluster()
	h.put("web", "one")
	healed := &healer{}
	a := start(t, h, c, t.TempDir(), func(cfg *poll.Config) { cfg.Heals = healed })
	eventually.For(t, within, "it is synced", func() error {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.status["web"].GetSync() != "Synced" {
			return fmt.Errorf("%v", h.status["web"])
		}
		return nil
	})
	told := 0
	h.mu.Lock()
	h.onReport = func(r *agentv1.ReportRequest, store func()) error {
		if len(r.GetHeals()) == 1 && r.GetHeals()[0].GetNumber() == 7 {
			if told++; told == 1 {
				return fmt.Errorf("the answer is lost")
			}
		}
		store()
		return nil
	}
	h.mu.Unlock()
	healed.mu.Lock()
	healed.untold = []*agentv1.Heal{{Number: 7, ServiceId: "web", Name: "web"}}
	healed.mu.Unlock()
	a.Touched("web")
	eventually.For(t, within, "the heal is taken the second time", func() error {
		if left := len(healed.Heals()); left != 0 {
			return fmt.Errorf("%d are not told", left)
		}
		return nil
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	if told != 2 {
		t.Errorf("told %d times", told)
	}
}
