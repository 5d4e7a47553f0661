package poll

import (
	"context"

	"github.com/axle-cd/axle/agent/poll/change"
	"github.com/axle-cd/axle/agent/poll/report"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
)

// viewOf returns the view of a service, false if it has nothing to report.
func (l *Loop) viewOf(id string) (report.View, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.services[id]
	if s == nil || !s.known || l.list == nil {
		return report.View{}, false
	}
	v := report.View{
		ID: id, Listed: s.want != nil, Paused: s.want.GetPaused(), Waiting: s.waiting, Pending: l.list.GetPending(), Tombstone: s.tombstone,
		Running: s.Running, Trouble: s.trouble, Gate: s.gate, Result: s.result, Drain: s.drain,
		Warnings: s.warnings, Applied: s.applied, Deletes: l.deletes.Words(), Away: l.away,
	}
	if s.want != nil && s.spec != nil {
		v.Behind = s.done == nil || change.Of(s.done, s.wanted(l.config.Render.RendererVersion())) != change.Unchanged
	}
	if s.spec != nil {
		v.Scrub = s.scrub
	}
	return v, true
}

// newReporter returns the reporter of this loop.
func (l *Loop) newReporter() *report.Reporter {
	return report.New(report.Config{
		BootID: l.config.BootID, Clock: l.config.Clock, Log: l.config.Log, View: l.viewOf, Each: l.reportables, WholeTaken: l.wholeTaken,
		Counted: func(result string) { l.metrics.reports.WithLabelValues(result).Inc() },
		Send: func(ctx context.Context, r *agentv1.ReportRequest) (*agentv1.ReportResponse, error) {
			answer, err := l.config.Hub.Report(ctx, r)
			l.noteDuplicate(err)
			return answer, err
		},
		Watch: l.config.Watch, Inventory: l.config.Inventory, Tests: l.config.Tests, Heals: l.config.Heals,
	})
}

// reportables counts them, and calls each with their ids if it is set.
func (l *Loop) reportables(each func(id string)) (count int, complete bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	complete = l.list != nil && l.loaded
	for id, s := range l.services {
		if s.known {
			if count++; each != nil {
				each(id)
			}
		}
		complete = complete && (s.known || s.tombstone != nil)
	}
	return count, complete
}
