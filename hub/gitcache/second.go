package gitcache

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/gitagent"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/gitcache/shard"
	"github.com/axle-cd/axle/hub/peer"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
)

const (
	// followEvery is how often a follower checks by itself whether the owner
	// has something new. Owners notify it; this check covers lost notices.
	followEvery = time.Minute
	// lookedEvery is how often it compares all refs when there is no sign that
	// the owner fetched. That runs git on both sides; otherwise it costs two
	// queries.
	lookedEvery = 5 * time.Minute
	// followedEvery is how often a follower that lacks nothing reports so
	// again.
	followedEvery = 10 * time.Minute
	// maxCopying limits concurrent copies of changes; shard.MaxMoving limits
	// those of whole mirrors.
	maxCopying = 4
	// seedFrom is how long a replica that seems gone is still asked for a copy
	// that this one's disk lacks.
	seedFrom = 10 * time.Minute
	// tellLimit limits the notification of a follower.
	tellLimit = 5 * time.Second
)

// seconds are the second copies that this replica keeps.
type seconds struct {
	running map[string]*second       // guarded by Cache.mu
	locks   map[string]chan struct{} // guarded by Cache.mu; one holder each
	names   map[string]string        // followers by repository; guarded by Cache.mu
	seeding chan struct{}
	copying chan struct{}
}

// second is one repository that this replica follows.
type second struct {
	wake   chan struct{}
	cancel context.CancelFunc
	done   chan struct{}
}

func newSeconds() seconds {
	return seconds{running: map[string]*second{}, locks: map[string]chan struct{}{}, names: map[string]string{},
		seeding: make(chan struct{}, shard.MaxMoving), copying: make(chan struct{}, maxCopying)}
}

// lockCopy waits for the lock of a mirror on this disk. Its holder, the agent
// that owns the mirror or a copy from another replica, is the only one to
// change it.
func (c *Cache) lockCopy(ctx context.Context, name string) (unlock func(), err error) {
	c.mu.Lock()
	lock := c.seconds.locks[name]
	if lock == nil {
		lock = make(chan struct{}, 1)
		c.seconds.locks[name] = lock
	}
	c.mu.Unlock()
	select {
	case lock <- struct{}{}:
		return func() { <-lock }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// keepSeconds starts and stops second copies as the placements require.
func (c *Cache) keepSeconds(ctx context.Context, rows []Placement) {
	c.mu.Lock()
	defer c.mu.Unlock()
	want := map[string]bool{}
	clear(c.seconds.names)
	for _, row := range rows {
		c.seconds.names[row.RepositoryID] = row.Follower
		if row.Follower == c.config.Replica && !(row.Held && row.Owner == c.config.Replica) {
			want[row.RepositoryID] = true
		}
	}
	for id, s := range c.seconds.running {
		if !want[id] {
			s.cancel()
			delete(c.seconds.running, id)
		}
	}
	for id := range want {
		if c.seconds.running[id] != nil {
			continue
		}
		working, cancel := context.WithCancel(ctx)
		s := &second{wake: make(chan struct{}, 1), cancel: cancel, done: make(chan struct{})}
		c.seconds.running[id] = s
		c.tasks.Go(func() {
			defer close(s.done)
			defer cancel()
			c.keepSecond(working, id, s.wake)
		})
	}
}

// FollowNow implements peer.Owner.
func (c *Cache) FollowNow(repositoryID string) {
	c.mu.Lock()
	s := c.seconds.running[repositoryID]
	c.mu.Unlock()
	if s == nil {
		return
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// tellFollower notifies the follower that there is something new.
func (c *Cache) tellFollower(repositoryID string) {
	if c.config.Replicas == nil {
		return
	}
	c.mu.Lock()
	name := c.seconds.names[repositoryID]
	c.mu.Unlock()
	to, ok := c.config.Replicas.Members.Named(name)
	if !ok || to.URL == "" || name == c.config.Replica {
		return
	}
	c.tasks.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), tellLimit)
		defer cancel()
		// A follower that was not notified checks by itself.
		_ = c.config.Replicas.Client.Follow(ctx, to, repositoryID)
	})
}

// keepSecond follows one repository until ctx ends.
func (c *Cache) keepSecond(ctx context.Context, repositoryID string, wake <-chan struct{}) {
	backoff := jitter.Backoff{Min: 2 * time.Second, Max: followEvery}
	var said, pinned time.Time
	var looked lastLook
	for ctx.Err() == nil {
		wait := jitter.Add(followEvery, followEvery/2)
		began := time.Now()
		news, err := c.followOnce(ctx, repositoryID, &looked, began.Sub(pinned) > followedEvery)
		if err == nil && (news || began.Sub(pinned) > followedEvery) {
			pinned = began
		}
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			wait, pinned, looked = backoff.Next(), time.Time{}, lastLook{}
			c.config.Log.Warn("a second copy cannot be brought up to date", logkey.Repository, repositoryID, logkey.Error, err)
		default:
			backoff.Reset()
			if news || time.Since(said) > followedEvery {
				said = time.Now()
				if err := c.config.Replicas.Placement.Followed(ctx, repositoryID, c.config.Replica); err != nil {
					said = time.Time{}
				}
			}
		}
		select {
		case <-ctx.Done():
		case <-wake:
			looked = lastLook{}
		case <-time.After(wait):
		}
	}
}

// lastLook is the result of the last comparison of a follower's copy with the
// owner's.
type lastLook struct {
	at      time.Time
	owner   string
	fetched time.Time // by the owner
}

// enough reports whether nothing happened since that needs another comparison.
func (l lastLook) enough(owner string, r Repository) bool {
	return l.owner == owner && l.fetched.Equal(r.Health.FetchedAt) && time.Since(l.at) < lookedEvery
}

// followOnce copies what the owner has and this replica lacks: the mirror, and
// the tarballs that must remain servable, some of which the mirror cannot
// rebuild. It checks tarballs when the mirror had changes, or when all is set.
func (c *Cache) followOnce(ctx context.Context, repositoryID string, looked *lastLook, all bool) (news bool, err error) {
	owner, err := c.Owner(ctx, repositoryID)
	switch {
	case errcode.Is(err, errcode.Unavailable), err == nil && (owner.Self || owner.URL == ""):
		return false, nil // there is no owner to follow right now
	case err != nil:
		return false, err
	}
	r, err := c.store.Repository(ctx, repositoryID)
	if err != nil {
		return false, err
	}
	if r.Kind == record.Git && !all && looked.enough(owner.Replica, r) {
		return false, nil
	}
	if r.Kind == record.Git {
		look := lastLook{time.Now(), owner.Replica, r.Health.FetchedAt}
		if news, err = c.copyMirror(ctx, r.Copy(), owner.peer()); err != nil {
			return news, err
		}
		if *looked = look; !(news || all) {
			return false, nil
		}
	}
	copied, err := c.copyPinned(ctx, repositoryID)
	return news || copied, err
}

// copyMirror copies from another replica and reports whether anything new came.
func (c *Cache) copyMirror(ctx context.Context, name string, from peer.Replica) (news bool, err error) {
	unlock, err := c.lockCopy(ctx, name)
	if err != nil {
		return false, err
	}
	defer unlock()
	return c.copyLocked(ctx, name, from)
}

func (c *Cache) copyLocked(ctx context.Context, name string, from peer.Replica) (news bool, err error) {
	mirror := c.mirror(name)
	turn := c.seconds.copying
	if !mirror.Exists(ctx) {
		turn = c.seconds.seeding
	}
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	same, err := mirror.Sync(ctx, func(ctx context.Context, refs string, haves []string, take func(io.Reader) error) (bool, error) {
		return c.config.Replicas.Client.Mirror(ctx, from, name, peer.CopyRequest{Refs: refs, Haves: haves}, take)
	})
	if errcode.Is(err, errcode.NotFound) {
		return false, nil // the owner has none yet
	}
	if err == nil && !same {
		c.metrics.copies.Inc()
	}
	return err == nil && !same, err
}

// copyPinned copies every tarball that must remain servable onto this disk.
// Failures are retried with the next change.
func (c *Cache) copyPinned(ctx context.Context, repositoryID string) (news bool, err error) {
	pins, err := c.store.Pins(ctx, repositoryID)
	if err != nil {
		return false, err
	}
	var failed error
	for _, p := range pins {
		if c.node.Has(p.Digest) {
			continue
		}
		t, err := c.Fetch(ctx, p.Digest)
		if err != nil {
			if ctx.Err() != nil {
				return news, ctx.Err()
			}
			failed = err
			continue
		}
		news = true
		if err := t.Close(); err != nil {
			return news, err
		}
	}
	return news, failed
}

// mirror returns the copy of that name on this disk. Replicas request copies by
// name, because they may not know of a move yet.
func (c *Cache) mirror(name string) gitagent.Copy {
	return gitagent.Copy{Git: c.git, Dir: c.mirrorDir(name)}
}

// CopyMirror implements peer.Mirrors.
func (c *Cache) CopyMirror(ctx context.Context, name string, r peer.CopyRequest, w io.Writer) (same bool, err error) {
	return c.mirror(name).Write(ctx, r.Refs, r.Haves, w)
}

// seed copies a repository from its owner before it is taken over.
func (c *Cache) seed(ctx context.Context, repositoryID string, from peer.Replica) error {
	r, err := c.store.Repository(ctx, repositoryID)
	if err != nil {
		return err
	}
	if r.Kind == record.Git {
		_, err = c.copyMirror(ctx, r.Copy(), from)
	}
	if err == nil {
		_, err = c.copyPinned(ctx, repositoryID)
	}
	return err
}

// seedFinal copies what a former owner fetched last, if this replica does not
// have it already.
func (c *Cache) seedFinal(ctx context.Context, repositoryID string, from peer.Replica, refs string) error {
	if refs == "" || refs == c.refsOf(ctx, repositoryID) {
		return nil
	}
	r, err := c.store.Repository(ctx, repositoryID)
	if err == nil {
		_, err = c.copyMirror(ctx, r.Copy(), from)
	}
	return err
}

// refsOf returns the hash of the refs of this replica's copy, empty when it is
// unknown.
func (c *Cache) refsOf(ctx context.Context, repositoryID string) string {
	r, err := c.store.Repository(ctx, repositoryID)
	if err != nil {
		return ""
	}
	return c.mirror(r.Copy()).Refs(ctx)
}

// seedMissing searches other replicas for a copy when an owner's disk has none,
// because it was lost or never existed. The whole repository is fetched from
// upstream only when no replica has it.
func (c *Cache) seedMissing(ctx context.Context, r Repository) (seeded bool) {
	if c.config.Replicas == nil || r.Kind != record.Git || c.mirror(r.Copy()).Exists(ctx) {
		return false
	}
	c.mu.Lock()
	follower := c.seconds.names[r.ID]
	c.mu.Unlock()
	// Include those that seem to be gone: their rows may be outdated.
	others := slices.DeleteFunc(c.config.Replicas.Members.Known(), func(r peer.Replica) bool {
		return r.URL == "" || r.Name == c.config.Replica || (!r.Present && c.config.Clock.Now().Sub(r.SeenAt) > seedFrom)
	})
	slices.SortStableFunc(others, func(a, b peer.Replica) int { return worth(b, follower) - worth(a, follower) })
	for _, from := range others {
		news, err := c.copyLocked(ctx, r.Copy(), from)
		if err != nil && ctx.Err() == nil {
			c.config.Log.Warn("a repository cannot be copied from another replica", logkey.Repository, r.ID, logkey.Replica, from.Name, logkey.Error, err)
		}
		if news || ctx.Err() != nil {
			c.config.Log.Info("a repository was copied from another replica", logkey.Repository, r.ID, logkey.Replica, from.Name)
			return news
		}
	}
	return false
}

// worth ranks a replica by how likely it has a copy and answers.
func worth(r peer.Replica, follower string) (n int) {
	if r.Alive {
		n++
	}
	if r.Name == follower {
		n += 2
	}
	return n
}

// stopSecond stops the following of a repository that this replica owns now.
func (c *Cache) stopSecond(repositoryID string) {
	c.mu.Lock()
	s := c.seconds.running[repositoryID]
	delete(c.seconds.running, repositoryID)
	c.mu.Unlock()
	if s != nil {
		s.cancel()
	}
}

// followed returns how many second copies this replica keeps.
func (c *Cache) followed() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.seconds.running)
}
