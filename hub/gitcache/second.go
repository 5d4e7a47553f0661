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
	// followEvery is how often a follower looks by itself whether the owner
	// has something new; owners tell it, and this repairs what was not told.
	followEvery = time.Minute
	// lookedEvery is how often it compares all refs when nothing says that the
	// owner fetched: that runs git on both sides, and the rest is two questions
	// to the database.
	lookedEvery = 5 * time.Minute
	// followedEvery is how often a follower that lacks nothing says so again.
	followedEvery = 10 * time.Minute
	// maxCopying bounds the copies of news that run at a time; those of whole
	// mirrors are bounded by shard.MaxMoving.
	maxCopying = 4
	// seedFrom is how long a replica that is gone is still asked for a copy
	// that this one's disk does not have.
	seedFrom = 10 * time.Minute
	// tellLimit bounds telling a follower of news.
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

// lockCopy waits for the one place from which a mirror on this disk is
// changed: the agent that owns it, or a copy from another replica.
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

// keepSeconds begins and ends second copies as the placements say.
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

// tellFollower tells whoever keeps the second copy that there is news.
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
		// It looks by itself when it was not told.
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

// lastLook is what a follower saw when it compared its copy with the owner's.
type lastLook struct {
	at      time.Time
	owner   string
	fetched time.Time // by the owner
}

// enough reports whether nothing happened since that needs another look.
func (l lastLook) enough(owner string, r Repository) bool {
	return l.owner == owner && l.fetched.Equal(r.Health.FetchedAt) && time.Since(l.at) < lookedEvery
}

// followOnce copies what the owner has and this replica lacks: the mirror, and
// the tarballs that must stay possible to serve, of which some are more than
// the mirror can make. Tarballs are looked through when the mirror had news, or
// all is set.
func (c *Cache) followOnce(ctx context.Context, repositoryID string, looked *lastLook, all bool) (news bool, err error) {
	owner, err := c.Owner(ctx, repositoryID)
	switch {
	case errcode.Is(err, errcode.Unavailable), err == nil && (owner.Self || owner.URL == ""):
		return false, nil // nobody to follow right now
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

// copyMirror copies from another replica and reports whether anything came.
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

// copyPinned gets every tarball onto this disk that must stay possible to
// serve. What cannot be had is tried again with the next news.
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

// mirror is what lies on this disk under the name of a copy, which is what
// replicas ask each other for: they may not have heard of a move yet.
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
// not known.
func (c *Cache) refsOf(ctx context.Context, repositoryID string) string {
	r, err := c.store.Repository(ctx, repositoryID)
	if err != nil {
		return ""
	}
	return c.mirror(r.Copy()).Refs(ctx)
}

// seedMissing looks for a copy elsewhere when an owner's disk has none: one
// that was lost, or never was. Upstream is asked for a whole repository only
// when no replica has it.
func (c *Cache) seedMissing(ctx context.Context, r Repository) (seeded bool) {
	if c.config.Replicas == nil || r.Kind != record.Git || c.mirror(r.Copy()).Exists(ctx) {
		return false
	}
	c.mu.Lock()
	follower := c.seconds.names[r.ID]
	c.mu.Unlock()
	// Also those that seem to be gone: their rows may be older than they are.
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

// worth orders replicas by how likely they have a copy and answer.
func worth(r peer.Replica, follower string) (n int) {
	if r.Alive {
		n++
	}
	if r.Name == follower {
		n += 2
	}
	return n
}

// stopSecond ends the following of a repository that this replica owns now.
func (c *Cache) stopSecond(repositoryID string) {
	c.mu.Lock()
	s := c.seconds.running[repositoryID]
	delete(c.seconds.running, repositoryID)
	c.mu.Unlock()
	if s != nil {
		s.cancel()
	}
}

// followed is how many second copies this replica keeps.
func (c *Cache) followed() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.seconds.running)
}
