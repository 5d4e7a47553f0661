package cache

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/axle-cd/axle/internal/atomicfile"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/tarball"
)

const (
	// refreshPeriod is the product's promise: what runs is compared with the hub's
	// content at least this often, whatever digests and caches say.
	refreshPeriod = 2 * time.Hour
	// largePeriod is for tarballs above largeTarball: otherwise a fleet of 10,000
	// would transfer a terabyte a day for one service.
	largePeriod  = 12 * time.Hour
	largeTarball = 10 << 20
)

// moments are when a service was last downloaded whole, and when its copy was hashed,
// in microseconds since 1970.
type moments struct {
	Downloaded int64 `json:"downloaded"`
	Checked    int64 `json:"checked"`
}

// Refreshed says what Refresh did.
type Refreshed struct {
	// Downloaded: the whole tarball was downloaded and had the right digest.
	Downloaded bool
	// Checked: the copy on disk was hashed.
	Checked bool
	// Repaired: the copy on disk was damaged and replaced; render the service again.
	Repaired bool
}

// Refresh downloads a service's tarball again, unconditionally, and hashes the copy
// on disk, each at its due time. Call it often: most calls do nothing. After an error
// the copy stays and the next call retries.
func (c *Cache) Refresh(ctx context.Context, service string, d digest.Digest, fetch Fetch) (Refreshed, error) {
	c.mu.Lock()
	r, ok := c.records[d]
	last, seen := c.refreshed[service]
	c.mu.Unlock()
	if !ok || !seen {
		return Refreshed{}, nil // the next pass downloads it, or uses another service's, and starts the clock
	}
	now := c.cfg.Clock.Now()
	period := refreshPeriod
	if r.TarballBytes > largeTarball {
		period = largePeriod
	}
	download := due(service, period, last.Downloaded, now)
	if !download && !due(service+" check", refreshPeriod, last.Checked, now) {
		return Refreshed{}, nil
	}
	unlock, err := c.lock(ctx, d)
	if err != nil {
		return Refreshed{}, err
	}
	defer unlock()
	done, err := c.refresh(ctx, d, download, fetch)
	if done.Downloaded {
		last.Downloaded = clock.Micros(now)
	}
	if done.Checked {
		last.Checked = clock.Micros(now)
	}
	if done != (Refreshed{}) {
		c.mu.Lock()
		c.refreshed[service] = last
		c.mu.Unlock()
		err = errors.Join(err, c.saveRefreshed())
	}
	return done, err
}

// due reports whether the service's moment within the period lies between last and
// now. The moments of one service are exactly one period apart; those of many
// services are spread over the period by their ids.
func due(key string, period time.Duration, last int64, now time.Time) bool {
	phase := jitter.Spread(key, period)
	slot := func(t time.Time) int64 { return (t.UnixMicro() - phase.Microseconds()) / period.Microseconds() }
	return slot(now) > slot(clock.FromMicros(last))
}

func (c *Cache) refresh(ctx context.Context, d digest.Digest, download bool, fetch Fetch) (Refreshed, error) {
	good, err := c.check(ctx, d)
	if err != nil {
		return Refreshed{}, err
	}
	done := Refreshed{Checked: true}
	if !download && good {
		return done, nil
	}
	// Unconditional: neither a delta nor the rest of an earlier download.
	body, err := fetch(ctx, tarball.Request{Digest: d})
	var fresh string
	var r record
	if err == nil {
		fresh, r, err = c.unpackWhole(ctx, d, body, nil)
	}
	if err != nil {
		// A damaged copy must not be rendered, even if the hub cannot replace it.
		if !good {
			c.forget(d)
		}
		return Refreshed{}, err
	}
	done.Downloaded = true
	if good {
		return done, os.RemoveAll(fresh)
	}
	c.cfg.Log.Warn("replacing a damaged tree on disk", logkey.Digest, d.Short())
	if err := c.place(d, fresh, r); err != nil {
		c.forget(d)
		return Refreshed{}, errors.Join(diskError("store a tree", err), os.RemoveAll(fresh))
	}
	done.Repaired = true
	return done, nil
}

// check hashes the copy on disk.
func (c *Cache) check(ctx context.Context, d digest.Digest) (bool, error) {
	got, _, err := tarball.Hash(ctx, c.treePath(d), c.cfg.Limits)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err != nil {
		c.cfg.Log.Warn("cannot read a tree on disk", logkey.Digest, d.Short(), logkey.Error, err)
		return false, nil
	}
	return got == d, nil
}

// firstSeen starts a service's clock with its first tree, and records which tree it
// has now.
func (c *Cache) firstSeen(service string, d digest.Digest) {
	c.mu.Lock()
	c.last[service] = d
	_, known := c.refreshed[service]
	if !known {
		now := clock.Micros(c.cfg.Clock.Now())
		c.refreshed[service] = moments{Downloaded: now, Checked: now}
	}
	c.mu.Unlock()
}

func (c *Cache) saveRefreshed() error {
	c.mu.Lock()
	text, err := json.Marshal(c.refreshed)
	c.mu.Unlock()
	if err != nil {
		return err
	}
	if err := atomicfile.Write(filepath.Join(c.cfg.Dir, refreshedFile), text, 0o600); err != nil {
		return diskError("store the time of a download", err)
	}
	return nil
}

// loadRefreshed reads the stored times. A service without one counts as downloaded
// when its tree is next requested.
func (c *Cache) loadRefreshed() {
	text, err := os.ReadFile(filepath.Join(c.cfg.Dir, refreshedFile))
	if err == nil && json.Unmarshal(text, &c.refreshed) == nil && c.refreshed != nil {
		return
	}
	c.refreshed = map[string]moments{}
}
