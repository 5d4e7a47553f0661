package poll

import (
	"github.com/axle-cd/axle/agent/cache"
	"github.com/axle-cd/axle/agent/poll/change"
	"github.com/axle-cd/axle/internal/logkey"
)

// deletesHold is what every delete waits for: prunes, drains and detaches. It
// survives a restart.
//
//	(none) --Resumed--> reports --(a whole report was taken)--> (none)
//	(any) --Restored--> restored --(the list says confirmed)--> reports
type deletesHold string

const (
	noHold deletesHold = ""
	// holdForReports waits until the hub knows again what this cluster runs.
	holdForReports deletesHold = "reports"
	// holdRestored waits for a person: the hub may have lost services that this
	// cluster was given.
	holdRestored deletesHold = "restored"
)

// after is the hold after a list of that lineage was accepted.
func (h deletesHold) after(lineage Lineage, confirmed bool) deletesHold {
	switch {
	case confirmed && (h == holdRestored || lineage != SameLife):
		return holdForReports
	case lineage == Restored:
		return holdRestored
	case lineage == Resumed && h != holdRestored:
		return holdForReports
	}
	return h
}

// words is the explanation for people; empty without a hold.
func (h deletesHold) words() string {
	switch h {
	case holdRestored:
		return "the hub was restored from a backup and may have forgotten services; nothing is deleted until somebody runs `axle hub confirm-restore`"
	case holdForReports:
		return "the hub has a new incarnation; nothing is deleted until it knows again what this cluster runs"
	}
	return ""
}

// wholeTaken ends the wait for reports, so that deletes continue.
func (l *Loop) wholeTaken() {
	l.mu.Lock()
	if l.deletes != holdForReports {
		l.mu.Unlock()
		return
	}
	l.deletes = noHold
	now := l.Clock.Now()
	for _, s := range l.services {
		if s.deletesHeld || s.tombstone != nil {
			s.queue(now, change.DeletesFreed)
		}
		l.hints.touch(s.id)
	}
	l.mu.Unlock()
	l.remember(func(r *cache.Remembered) { r.Deletes = "" })
	poke(l.work)
	poke(l.hints.wake)
}

// remember changes what survives a restart. If the disk fails, the agent continues to
// work, and after a restart would begin with what it stored before.
func (l *Loop) remember(change func(*cache.Remembered)) {
	l.remembering.Lock()
	defer l.remembering.Unlock()
	change(&l.Remembered)
	if err := l.Cache.Remember(l.Remembered); err != nil {
		l.Log.Error("cannot store what was received from the hub", logkey.Error, err)
	}
}
