package poll

import (
	"github.com/axle-cd/axle/agent/cache"
	"github.com/axle-cd/axle/agent/poll/change"
	"github.com/axle-cd/axle/internal/logkey"
)

// wholeTaken ends the wait for reports, so that deletes continue.
func (l *Loop) wholeTaken() {
	l.mu.Lock()
	if l.deletes != ForReports {
		l.mu.Unlock()
		return
	}
	l.deletes = NoHold
	now := l.config.Clock.Now()
	for _, s := range l.services {
		if s.deletesHeld || s.tombstone != nil {
			s.queue(now, change.DeletesFreed)
		}
		l.hints.Touch(s.Id)
	}
	l.mu.Unlock()
	l.remember(func(r *cache.Remembered) { r.Deletes = "" })
	poke(l.work)
	l.hints.Poke()
}

// remember changes what survives a restart. If the disk fails, the agent continues to
// work, and after a restart would begin with what it stored before.
func (l *Loop) remember(change func(*cache.Remembered)) {
	l.remembering.Lock()
	defer l.remembering.Unlock()
	change(&l.config.Remembered)
	if err := l.config.Cache.Remember(l.config.Remembered); err != nil {
		l.config.Log.Error("cannot store what was received from the hub", logkey.Error, err)
	}
}
