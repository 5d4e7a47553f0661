package poll

import (
	"context"
	"slices"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/agent/poll/change"
)

// Touched says that the drift or health of a service changed.
func (l *Loop) Touched(id string) { l.hints.Changed(id) }

// NeedPass says that a service must be rendered again before it can be healed.
func (l *Loop) NeedPass(id string) { l.hints.NeedPass(id) }

// APIsChanged says that the kinds that the cluster serves changed.
func (l *Loop) APIsChanged() { l.hints.APIs() }

// runHints turns hints into passes and reports.
func (l *Loop) runHints(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-l.hints.Wake:
			l.heed(ctx)
		}
	}
}

func (l *Loop) heed(ctx context.Context) {
	hinted := l.hints.Take()
	served := []string(nil)
	if hinted.APIs {
		if caps, _, err := l.config.Cluster.Capabilities(ctx); err == nil {
			served = caps.APIVersions
		}
	}
	now := l.config.Clock.Now()
	l.mu.Lock()
	for id := range hinted.NeedPass {
		if s := l.services[id]; s != nil && s.want != nil && !s.held {
			s.done = nil
			s.queue(now, change.Asked)
		}
	}
	for _, s := range l.hinted(hinted, served != nil) {
		if s.want == nil || s.held {
			continue
		}
		if l.mayGoOn(s, hinted) {
			s.queue(now, change.Unfinished)
		}
		if served != nil && s.done != nil && len(s.done.Asked) > 0 && change.APIsOf(s.done.Asked, served) != s.done.APIs {
			s.queue(now, change.NewAPIs)
		}
		if served != nil && s.lacked(served) {
			s.queue(now, change.NewAPIs)
		}
	}
	l.mu.Unlock()
	poke(l.work)
	l.report.Touch(hinted.Touched)
}

// hinted returns the services to check: those with news, those that wait for one that
// was touched, and all after a change of APIs. Watches hint many times a second, so
// this must not scan thousands of services each time.
func (l *Loop) hinted(h takenHints, apis bool) []*service {
	var some []*service
	if apis {
		for _, s := range l.services {
			some = append(some, s)
		}
		return some
	}
	for id := range h.News {
		if s := l.services[id]; s != nil && len(s.gatedBy) == 0 {
			some = append(some, s)
		}
	}
	waiting := map[string]bool{}
	for id := range h.Touched {
		if s := l.services[id]; s != nil {
			for id := range l.gated[s.name] {
				waiting[id] = true
			}
		}
	}
	for id := range waiting {
		some = append(some, l.services[id])
	}
	return some
}

// lacked reports whether a kind that the last pass missed is served now.
func (s *service) lacked(served []string) bool {
	return s.result != nil && slices.ContainsFunc(s.result.Missing, func(kind string) bool { return slices.Contains(served, kind) })
}

// mayGoOn reports whether a waiting service can continue: it waits for the health of
// its own objects, or for a dependency. Hints caused by its own pass do not count,
// otherwise a failing service would not keep its back-off.
func (l *Loop) mayGoOn(s *service, hinted takenHints) bool {
	if s.gate != "" {
		return l.gate(s) == ""
	}
	if !hinted.News[s.Id] || s.objects == nil || s.result == nil {
		return false
	}
	return s.result.Phase == apply.PhaseWaiting || s.result.Phase == apply.PhaseFailed && s.result.Reason == apply.ReasonHealth
}
