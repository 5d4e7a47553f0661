package write

import (
	"fmt"
	"time"

	"github.com/axle-cd/axle/internal/kubeobj"
)

// An object that is applied again although its service did not change has another
// writer. It gets at most rewriteMost such writes in rewriteWithin, by heals and
// passes together, for whatever reason the passes run.
const (
	rewriteMost   = 9
	rewriteWithin = 10 * time.Minute
)

// The reasons of a refusal. reasonContested: another writer keeps changing an object.
const (
	ReasonOwnership = "NotOurs"
	reasonContested = "Contested"
)

// mayRewrite refuses another write of an object with unchanged content.
func (s *Common) mayRewrite(ref kubeobj.Ref) *Refusal {
	now := s.clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for other, times := range s.rewrites {
		for len(times) > 0 && now.Sub(times[0]) >= rewriteWithin {
			times = times[1:]
		}
		if len(times) == 0 {
			delete(s.rewrites, other)
		} else {
			s.rewrites[other] = times
		}
	}
	if len(s.rewrites[ref]) >= rewriteMost {
		return &Refusal{Reason: reasonContested, Message: fmt.Sprintf(
			"%s was put back %d times in %v and something changes it each time; stop the other writer, or ignore the field (syncConfig.diffNormalizers)", ref, rewriteMost, rewriteWithin)}
	}
	return nil
}

// rewrote counts such a write after it succeeded.
func (s *Common) rewrote(ref kubeobj.Ref) {
	now := s.clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rewrites[ref] = append(s.rewrites[ref], now)
}
