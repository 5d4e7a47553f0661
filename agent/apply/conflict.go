package apply

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

// ReasonContested says that another writer keeps changing an object.
const ReasonContested = "Contested"

// mayRewrite refuses another write of an object with unchanged content.
func (e *Engine) mayRewrite(ref kubeobj.Ref) *refusal {
	now := e.cfg.Clock.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	for other, times := range e.rewrites {
		for len(times) > 0 && now.Sub(times[0]) >= rewriteWithin {
			times = times[1:]
		}
		if len(times) == 0 {
			delete(e.rewrites, other)
		} else {
			e.rewrites[other] = times
		}
	}
	if len(e.rewrites[ref]) >= rewriteMost {
		return &refusal{reason: ReasonContested, message: fmt.Sprintf(
			"%s was put back %d times in %v and something changes it each time; stop the other writer, or ignore the field (syncConfig.diffNormalizers)", ref, rewriteMost, rewriteWithin)}
	}
	return nil
}

// rewrote counts such a write after it succeeded.
func (e *Engine) rewrote(ref kubeobj.Ref) {
	now := e.cfg.Clock.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.rewrites == nil {
		e.rewrites = map[kubeobj.Ref][]time.Time{}
	}
	e.rewrites[ref] = append(e.rewrites[ref], now)
}
