package poll

import (
	"context"
	"sync"
)

// hints collects what watches tell, under a lock of its own: they must not
// wait for a pass, nor the loop for them.
type hints struct {
	mu       sync.Mutex
	touched  map[string]bool
	needPass map[string]bool
	apis     bool
	wake     chan struct{}
}

func (h *hints) touch(id string) {
	h.mu.Lock()
	h.touched[id] = true
	h.mu.Unlock()
}

func (h *hints) take() (touched, needPass map[string]bool, apis bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	touched, needPass, apis = h.touched, h.needPass, h.apis
	h.touched, h.needPass, h.apis = map[string]bool{}, map[string]bool{}, false
	return touched, needPass, apis
}

// Touched says that drift or health of a service is not what it was.
func (l *Loop) Touched(id string) {
	l.hints.touch(id)
	poke(l.hints.wake)
}

// NeedPass says that a service cannot be healed without being rendered again.
func (l *Loop) NeedPass(id string) {
	l.hints.mu.Lock()
	l.hints.needPass[id] = true
	l.hints.mu.Unlock()
	poke(l.hints.wake)
}

// APIsChanged says that the cluster serves other kinds than before.
func (l *Loop) APIsChanged() {
	l.hints.mu.Lock()
	l.hints.apis = true
	l.hints.mu.Unlock()
	poke(l.hints.wake)
}

// runHints turns hints into passes and reports.
func (l *Loop) runHints(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-l.hints.wake:
			l.heed(ctx)
		}
	}
}

func (l *Loop) heed(ctx context.Context) {
	touched, needPass, apis := l.hints.take()
	served := []string(nil)
	if apis {
		if caps, _, err := l.Cluster.Capabilities(ctx); err == nil {
			served = caps.APIVersions
		}
	}
	now := l.Clock.Now()
	l.mu.Lock()
	for id := range needPass {
		if s := l.services[id]; s != nil && s.want != nil && !s.held {
			s.done = nil
			s.queue(now, Asked)
		}
	}
	for _, s := range l.services {
		if s.want == nil || s.held {
			continue
		}
		// Its own health lets a pass that waits go on, and other services'
		// health the one that depends on them.
		if touched[s.id] && s.objects != nil || s.gate != "" && len(touched) > 0 {
			s.queue(now, Unfinished)
		}
		if served != nil && s.done != nil && len(s.done.Asked) > 0 && APIsOf(s.done.Asked, served) != s.done.APIs {
			s.queue(now, NewAPIs)
		}
	}
	l.mu.Unlock()
	poke(l.work)
	l.report.touch(touched)
}
