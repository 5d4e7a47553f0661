package poll

import (
	"context"

	"github.com/axle-cd/axle/agent/cache"
	"github.com/axle-cd/axle/agent/poll/change"
	"github.com/axle-cd/axle/agent/poll/content"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/logkey"
)

// runRefresh downloads every service's tarball again at its due time, one after the
// other. It is separate from the polls, which must not wait for it.
func (l *Loop) runRefresh(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-l.refresh:
			l.refreshAll(ctx)
		}
	}
}

// refreshDue limits the check of due times, which are hours apart, to once a minute,
// however many polls hints cause.
func (l *Loop) refreshDue() bool {
	now := l.config.Clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.refreshedAt) < refreshEvery {
		return false
	}
	l.refreshedAt = now
	return true
}

func (l *Loop) refreshAll(ctx context.Context) {
	type part struct {
		service string
		digest  digest.Digest
	}
	wanted := map[string]part{}
	l.mu.Lock()
	for id, s := range l.services {
		for i, p := range content.Parts(s.want) {
			wanted[content.Key(id, i)] = part{id, digest.Digest(p.GetDigest())}
		}
	}
	l.mu.Unlock()
	for key, p := range wanted {
		if ctx.Err() != nil {
			return
		}
		done, err := l.config.Cache.Refresh(ctx, key, p.digest, l.config.Hub.Tarball)
		l.refreshed(p.service, done, err)
	}
}

func (l *Loop) refreshed(id string, done cache.Refreshed, err error) {
	if err != nil {
		l.config.Log.Warn("a full download failed; the next poll retries it", logkey.Service, id, logkey.Error, err)
	}
	if done.Downloaded {
		l.metrics.downloads.Inc()
	}
	if !done.Repaired {
		return
	}
	l.mu.Lock()
	if s := l.services[id]; s != nil && s.want != nil && !s.held {
		s.queue(l.config.Clock.Now(), change.Repaired)
	}
	l.mu.Unlock()
	poke(l.work)
}
