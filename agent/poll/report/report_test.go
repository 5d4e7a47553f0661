package report_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/axle-cd/axle/agent/poll/report"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/eventually"
)

// A report of everything waits until every service has a status. When the last one gets
// it, nothing else may have to be reported: the next poll sends the report, for which
// deletes wait after a restore.
func TestAWholeReportIsSentOnceItCanBe(t *testing.T) {
	now := clock.NewManual(time.Unix(1_000_000, 0))
	looked, sent := make(chan bool, 10), make(chan bool, 10)
	var complete atomic.Bool
	r := report.New(report.Config{
		BootID: "boot", Clock: now, Log: slog.New(slog.DiscardHandler),
		Send: func(_ context.Context, r *agentv1.ReportRequest) (*agentv1.ReportResponse, error) {
			sent <- r.GetWhole()
			return &agentv1.ReportResponse{}, nil
		},
		Counted: func(string) {}, WholeTaken: func() {},
		View: func(string) (report.View, bool) { return report.View{}, false },
		Each: func(each func(string)) (int, bool) {
			if each != nil {
				looked <- true
			}
			return 0, complete.Load()
		},
	})
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- r.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })

	r.WantWhole()
	await(t, now, looked, "it looks at all services")
	complete.Store(true)
	r.Compare("")
	if !await(t, now, sent, "the report is sent") {
		t.Error("the report is not of everything")
	}
}

// await lets the time pass for which the reporter waits, until it did something.
func await(t *testing.T, now *clock.Manual, done chan bool, what string) (got bool) {
	t.Helper()
	eventually.For(t, 5*time.Second, what, func() error {
		select {
		case got = <-done:
			return nil
		default:
		}
		if waiting, _ := now.Waiting(); waiting > 0 {
			now.Advance(time.Second)
		}
		return errors.New("not yet")
	})
	return got
}
