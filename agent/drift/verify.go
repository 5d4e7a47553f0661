package drift

import (
	"context"
	"time"

	"github.com/axle-cd/axle/internal/logkey"
)

// verifyEvery is how often a kind is listed completely although its watch is healthy:
// a watch that lost an event would never show it. It happens between two watches, so
// a little later than this, and at a different time for each kind.
const verifyEvery = 2 * time.Hour

// verify lists everything page by page when it is due, and judges all objects of the
// kind by it. If that fails, the watch continues from its position, and the next
// opening tries again.
func (s *stream) verify(ctx context.Context) {
	if s.version == "" || s.w.cfg.Clock.Now().Before(s.verifyAt) {
		return
	}
	if err := s.list(ctx); err != nil {
		if ctx.Err() == nil {
			s.w.cfg.Log.Warn("cannot list a kind again", logkey.Kind, s.k.kind.String(), logkey.Error, err)
		}
		return
	}
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	s.w.recheckKindLocked(s.k)
}
