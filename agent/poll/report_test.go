package poll_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/axle-cd/axle/agent/poll"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/eventually"
)

// losses are the ways in which the hub can have statuses that differ from what the
// agent assumes.
var losses = map[string]func(h *hub){
	"a report is lost": func(h *hub) {
		h.onReport = func(r *agentv1.ReportRequest, store func()) error {
			h.onReport = nil
			return errors.New("lost")
		}
	},
	"an answer is lost": func(h *hub) {
		h.onReport = func(_ *agentv1.ReportRequest, store func()) error {
			h.onReport = nil
			store()
			return errors.New("lost")
		}
	},
	"an acknowledged report is lost": func(h *hub) {
		h.onReport = func(*agentv1.ReportRequest, func()) error {
			h.onReport = nil
			return nil
		}
	},
	"the hub loses what it had": func(h *hub) { clear(h.stored); clear(h.status) },
	"the hub has an older status": func(h *hub) {
		h.stored["web"] = "0123"
		h.status["web"] = &agentv1.ServiceStatus{Sync: "Failed"}
	},
	"the hub has a service that is nobody's": func(h *hub) {
		h.stored["ghost"] = "0123"
		h.status["ghost"] = &agentv1.ServiceStatus{Sync: "Synced"}
	},
}

// resyncing loses something in every way and returns an error when the hub is
// not right again within some time.
func resyncing(t *testing.T, limit time.Duration, wrap func(h *hub) poll.Hub) error {
	for name, lose := range losses {
		h, c := newHub(t), newCluster()
		h.put("web", "one")
		h.put("db", "db")
		a := start(t, h, c, t.TempDir(), func(cfg *poll.Config) { cfg.Hub = wrap(h) })
		h.says("web", "Synced", "")
		h.says("db", "Synced", "")
		h.mu.Lock()
		lose(h)
		h.mu.Unlock()
		h.put("web", "two")
		err := eventually.Wait(t.Context(), limit, func() error {
			h.mu.Lock()
			defer h.mu.Unlock()
			status := h.status["web"]
			if status.GetSync() != "Synced" || status.GetSourceRevision() != "two" || h.status["db"] == nil || len(h.status) != 2 {
				return fmt.Errorf("%s: the hub has %s at %q and %d services", name, status.GetSync(), status.GetSourceRevision(), len(h.status))
			}
			return nil
		})
		a.stop()
		if err != nil {
			return err
		}
	}
	return nil
}

func TestLostReportResyncs(t *testing.T) {
	if err := resyncing(t, within, func(h *hub) poll.Hub { return h }); err != nil {
		t.Error(err)
	}
}

// Statuses of removed services must be dropped even if one report cannot carry all
// services.
func TestWholeReportOfManyServicesDropsWhatIsNobodys(t *testing.T) {
	const many = 520
	h, c := newHub(t), newCluster()
	for n := range many {
		h.put(fmt.Sprintf("s%03d", n), "one")
	}
	start(t, h, c, t.TempDir())
	counted := func(what string, want int) {
		t.Helper()
		eventually.For(t, 2*within, what, func() error {
			h.mu.Lock()
			defer h.mu.Unlock()
			synced := 0
			for _, status := range h.status {
				if status.GetSync() == "Synced" {
					synced++
				}
			}
			if len(h.stored) != want || synced != many {
				return fmt.Errorf("the hub has %d services, %d synced", len(h.stored), synced)
			}
			return nil
		})
	}
	counted("all are reported", many)
	h.mu.Lock()
	h.stored["ghost"], h.status["ghost"] = "0123", &agentv1.ServiceStatus{}
	h.mu.Unlock()
	counted("the ghost is gone", many)
}

// deaf hides from the agent what would tell it of a loss.
type deaf struct{ *hub }

func (d deaf) Desired(ctx context.Context, etag string) (poll.Answer, error) {
	answer, err := d.hub.Desired(ctx, etag)
	answer.StatusHash = ""
	return answer, err
}

func (d deaf) Report(ctx context.Context, r *agentv1.ReportRequest) (*agentv1.ReportResponse, error) {
	_, err := d.hub.Report(ctx, &agentv1.ReportRequest{Services: r.GetServices()})
	_ = err
	return &agentv1.ReportResponse{}, nil
}

func TestLostReportResyncsCatchesADeafAgent(t *testing.T) {
	if err := resyncing(t, 5*time.Second, func(h *hub) poll.Hub { return deaf{h} }); err == nil {
		t.Error("an agent that notices no loss was not caught")
	}
}
