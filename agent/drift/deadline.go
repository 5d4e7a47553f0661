package drift

import (
	"fmt"
	"strings"
	"time"

	"github.com/axle-cd/axle/agent/health"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// stall is an object that is Progressing, and the time since when with its present
// specification. After a restart the agent counts from its own start.
type stall struct {
	generation int64
	since      time.Time
	deadline   time.Duration
	service    string
	told       bool
}

func (s stall) late(now time.Time) bool { return now.Sub(s.since) >= s.deadline }

// paceLocked records since when an object with a deadline is Progressing.
func (w *Watcher) paceLocked(ref kubeobj.Ref, live kubeobj.Live) {
	if live.Deadline == 0 || live.Health != string(health.Progressing) {
		delete(w.stalls, ref)
		return
	}
	s, known := w.stalls[ref]
	if !known || s.generation != live.Generation {
		s = stall{generation: live.Generation, since: w.cfg.Clock.Now()}
	}
	if s.deadline != live.Deadline {
		s.deadline, s.told = live.Deadline, false
	}
	s.service = live.Service
	w.stalls[ref] = s
}

// judgePaceLocked makes a component Degraded after its deadline.
func (w *Watcher) judgePaceLocked(ref kubeobj.Ref, c *agentv1.Component) {
	s, known := w.stalls[ref]
	if !known || c.GetHealth() != string(health.Progressing) || !s.late(w.cfg.Clock.Now()) {
		return
	}
	c.Health = string(health.Degraded)
	c.Message = strings.TrimSuffix(fmt.Sprintf("not healthy within its progress deadline of %s: %s", s.deadline, c.GetMessage()), ": ")
}

// tellStalls reports the services with objects whose deadlines have passed.
func (w *Watcher) tellStalls(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ref, s := range w.stalls {
		if !s.told && s.late(now) {
			s.told = true
			w.stalls[ref] = s
			w.tellLocked(s.service)
		}
	}
}
