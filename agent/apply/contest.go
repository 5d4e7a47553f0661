package apply

import (
	"fmt"
	"time"

	"github.com/axle-cd/axle/internal/kubeobj"
)

// An object that is applied again although nobody changed its service has
// another writer. rewriteMost such writes in rewriteWithin are all it gets, of
// heals and of passes together, whatever is the reason for the passes.
const (
	rewriteMost   = 9
	rewriteWithin = 10 * time.Minute
)

// ReasonContested says that somebody else writes an object again and again.
const ReasonContested = "Contested"

// mayRewrite refuses one more write of an object with the content that it had.
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
			"%s was put back %d times in %v and is changed each time; stop the other writer, or ignore the field (syncConfig.diffNormalizers)", ref, rewriteMost, rewriteWithin)}
	}
	return nil
}

// rewrote counts such a write once it was done.
func (e *Engine) rewrote(ref kubeobj.Ref) {
	now := e.cfg.Clock.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.rewrites == nil {
		e.rewrites = map[kubeobj.Ref][]time.Time{}
	}
	e.rewrites[ref] = append(e.rewrites[ref], now)
}
