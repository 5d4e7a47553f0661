package testrun

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
)

const (
	// reportEvery is the minimum time between two reports.
	reportEvery = time.Second
	// maxRuns and maxReportBytes bound one report.
	maxRuns        = 20
	maxReportBytes = 2 << 20
	reportLimit    = 30 * time.Second
)

// report sends changes until the context ends.
func (r *Runner) report(ctx context.Context) {
	backoff := jitter.Backoff{Min: reportEvery, Max: time.Minute}
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		}
		for {
			sent, err := r.send(ctx)
			wait := reportEvery
			if err != nil {
				r.cfg.Log.Debug("the hub did not accept results of tests yet", logkey.Error, err)
				wait = max(backoff.Next(), reportEvery)
			} else {
				backoff.Reset()
			}
			select {
			case <-ctx.Done():
				return
			case <-r.cfg.Clock.After(wait):
			}
			if err == nil && !sent {
				break
			}
		}
	}
}

// send sends some runs whose present state the hub does not have, and reports whether
// there were any.
func (r *Runner) send(ctx context.Context) (sent bool, err error) {
	request := &agentv1.ReportTestsRequest{BootId: r.cfg.BootID}
	r.mu.Lock()
	size := 0
	taken := map[*run]*agentv1.TestRun{}
	for _, one := range r.runs {
		if !one.unsent || len(request.Runs) >= maxRuns || size > maxReportBytes {
			continue
		}
		one.unsent = false
		for n, t := range one.tails {
			if result := one.result.GetTests()[n]; t != nil && result.GetState() == stateRunning {
				t.put(result)
			}
		}
		now := proto.CloneOf(one.result)
		if proto.Equal(now, one.sent) {
			continue
		}
		taken[one] = now
		request.Runs = append(request.Runs, now)
		size += proto.Size(now)
	}
	r.mu.Unlock()
	if len(request.Runs) == 0 {
		return false, nil
	}
	limited, cancel := context.WithTimeout(ctx, reportLimit)
	defer cancel()
	err = r.cfg.Hub.ReportTests(limited, request)
	r.mu.Lock()
	defer r.mu.Unlock()
	for one, now := range taken {
		if err != nil {
			one.unsent = true
		} else {
			one.sent = now
		}
	}
	return true, err
}
