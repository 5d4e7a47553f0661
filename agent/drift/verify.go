package drift

import (
	"context"
	"time"

	"github.com/axle-cd/axle/internal/logkey"
)

// verifyEvery is how often a kind is read whole although its watch is well: a
// watch that lost an event would never tell. It happens between two watches,
// so a little later than this, and each kind has its own time.
const verifyEvery = 2 * time.Hour

// verify reads everything page by page when it is time, and judges all objects
// of the kind by it. Where that fails the watch goes on from where it was, and
// the next opening tries again.
func (s *stream) verify(ctx context.Context) {
	if s.version == "" || s.w.cfg.Clock.Now().Before(s.verifyAt) {
		return
	}
	if err := s.list(ctx); err != nil {
		if ctx.Err() == nil {
			s.w.cfg.Log.Warn("a kind could not be read again", logkey.Kind, s.k.kind.String(), logkey.Error, err)
		}
		return
	}
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	s.w.recheckKindLocked(s.k)
}
