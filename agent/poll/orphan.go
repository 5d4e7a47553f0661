package poll

import (
	"context"
	"time"

	"github.com/axle-cd/axle/internal/logkey"
)

// lookEvery is how often the names of the inventories are read again: a cluster may have
// been restored from a backup under a running agent.
const lookEvery = 10 * time.Minute

// lookAgain reports services that came back with a backup of the cluster and that are in no
// list, and forgets those whose inventory somebody deleted.
func (l *Loop) lookAgain(ctx context.Context) {
	now := l.config.Clock.Now()
	l.mu.Lock()
	due := l.loaded && l.list != nil && now.Sub(l.lookedAt) >= lookEvery
	if due {
		l.lookedAt = now
	}
	var unwanted []string
	for id, s := range l.services {
		if due && s.want == nil && s.tombstone == nil && !s.Running {
			unwanted = append(unwanted, id)
		}
	}
	l.mu.Unlock()
	if !due {
		return
	}
	changed, err := l.config.Apply.LookAgain(ctx, unwanted)
	if err != nil {
		l.config.Log.Warn("cannot look for inventories that came back; the next look is in ten minutes", logkey.Error, err)
	}
	l.mu.Lock()
	for _, id := range changed {
		s := l.ensure(id)
		if state, found := l.config.Inventory.State(id); found && s.name == "" {
			l.call(s, state.Name, state.Namespace)
		}
		l.hold(s)
		l.hints.Touch(id)
	}
	l.mu.Unlock()
	if len(changed) > 0 {
		l.hints.Poke()
		l.drop()
	}
}
