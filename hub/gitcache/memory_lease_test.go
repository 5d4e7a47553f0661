package gitcache_test

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/internal/errcode"
)

// Acquire implements record.Lease.
func (m *Memory) Acquire(ctx context.Context, repositoryIDs []string, h gitcache.Holder, ttl, grace time.Duration) (map[string]int64, error) {
	now, err := m.enter(ctx, "Acquire")
	if err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	epochs := map[string]int64{}
	for _, id := range repositoryIDs {
		r, err := m.repo(id)
		if err != nil {
			continue
		}
		earlierLife := r.holder.Replica == h.Replica && r.holder.Boot != h.Boot
		if r.holder == (gitcache.Holder{}) || earlierLife || r.expires.Add(grace).Before(now) {
			r.holder, r.expires = h, now.Add(ttl)
			r.epoch++
			epochs[id] = r.epoch
		}
	}
	return epochs, nil
}

// Renew implements record.Lease.
func (m *Memory) Renew(ctx context.Context, h gitcache.Holder, ttl time.Duration) ([]gitcache.Held, error) {
	now, err := m.enter(ctx, "Renew")
	if err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	var out []gitcache.Held
	for id, r := range m.repos {
		if r.holder == h && r.expires.After(now) {
			r.expires = now.Add(ttl)
			out = append(out, gitcache.Held{RepositoryID: id, Epoch: r.epoch, KickRequestedAt: r.kicked})
		}
	}
	slices.SortFunc(out, func(a, b gitcache.Held) int { return strings.Compare(a.RepositoryID, b.RepositoryID) })
	return out, nil
}

// Release implements record.Lease.
func (m *Memory) Release(ctx context.Context, epochs map[string]int64, h gitcache.Holder) error {
	if _, err := m.enter(ctx, "Release"); err != nil {
		return err
	}
	defer m.mu.Unlock()
	for id, epoch := range epochs {
		if r := m.repos[id]; r != nil && r.holder == h && r.epoch == epoch {
			r.holder, r.expires = gitcache.Holder{}, time.Time{}
		}
	}
	return nil
}

// StartFetch implements record.Lease.
func (m *Memory) StartFetch(ctx context.Context, repositoryID string, epoch int64, gap time.Duration) error {
	now, err := m.enter(ctx, "StartFetch")
	if err != nil {
		return err
	}
	defer m.mu.Unlock()
	r, err := m.repo(repositoryID)
	switch {
	case err != nil:
		return err
	case r.epoch != epoch || !r.expires.After(now):
		return stale(repositoryID, epoch)
	case !m.noGaps && r.started.Add(gap).After(now):
		return errcode.New(errcode.Exhausted, "repository %s was fetched a moment ago", repositoryID).After(r.started.Add(gap).Sub(now))
	}
	r.started, r.kicked = now, time.Time{}
	return nil
}

// RequestKick implements record.Lease.
func (m *Memory) RequestKick(ctx context.Context, repositoryID string) error {
	now, err := m.enter(ctx, "RequestKick")
	if err != nil {
		return err
	}
	defer m.mu.Unlock()
	r, err := m.repo(repositoryID)
	if err != nil {
		return err
	}
	r.kicked = now
	return nil
}
