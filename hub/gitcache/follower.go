package gitcache

import (
	"context"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/gitagent"
	"github.com/axle-cd/axle/hub/gitcache/mirror"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/peer"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/pool"
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

// followerStore is what a follower reads.
type followerStore interface {
	Repository(ctx context.Context, id string) (Repository, error)
	Pins(ctx context.Context, repositoryID string) ([]Pin, error)
}

// follower keeps second copies of repositories that other replicas own, and
// notifies the followers of those that this one owns.
type follower struct {
	config   *Config
	store    followerStore
	owners   *owners
	tarballs *tarballs
	mirrors  *mirror.Pool
	metrics  *metrics
	tasks    *sync.WaitGroup // copies that run in the background
	seeding  *pool.Places
	copying  *pool.Places

	mu    sync.Mutex
	kept  map[string]*secondCopy   // that this replica keeps, by repository
	locks map[string]chan struct{} // by the name of a copy; one holder each
	names map[string]string        // of followers, by repository
}

// secondCopy is one repository that this replica follows.
type secondCopy struct {
	wake   chan struct{}
	cancel context.CancelFunc
	done   chan struct{}
}

// lockCopy waits for the lock of a mirror on this disk. Its holder, the agent
// that owns the mirror or a copy from another replica, is the only one to
// change it.
func (f *follower) lockCopy(ctx context.Context, name string) (unlock func(), err error) {
	f.mu.Lock()
	lock := f.locks[name]
	if lock == nil {
		lock = make(chan struct{}, 1)
		f.locks[name] = lock
	}
	f.mu.Unlock()
	select {
	case lock <- struct{}{}:
		return func() { <-lock }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// keep starts and stops second copies as the placements require.
func (f *follower) keep(ctx context.Context, rows []Placement) {
	f.mu.Lock()
	defer f.mu.Unlock()
	want := map[string]bool{}
	clear(f.names)
	for _, row := range rows {
		f.names[row.RepositoryID] = row.Follower
		if row.Follower == f.config.Replica && !(row.Held && row.Owner == f.config.Replica) {
			want[row.RepositoryID] = true
		}
	}
	for id, s := range f.kept {
		if !want[id] {
			s.cancel()
			delete(f.kept, id)
		}
	}
	for id := range want {
		if f.kept[id] != nil {
			continue
		}
		working, cancel := context.WithCancel(ctx)
		s := &secondCopy{wake: make(chan struct{}, 1), cancel: cancel, done: make(chan struct{})}
		f.kept[id] = s
		f.tasks.Go(func() {
			defer close(s.done)
			defer cancel()
			f.follow(working, id, s.wake)
		})
	}
}

// FollowNow implements peer.Owner.
func (f *follower) FollowNow(repositoryID string) {
	f.mu.Lock()
	s := f.kept[repositoryID]
	f.mu.Unlock()
	if s == nil {
		return
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// notify tells the follower of a repository that there is something new.
func (f *follower) notify(repositoryID string) {
	if f.config.Replicas == nil {
		return
	}
	f.mu.Lock()
	name := f.names[repositoryID]
	f.mu.Unlock()
	to, ok := f.config.Replicas.Members.Named(name)
	if !ok || to.URL == "" || name == f.config.Replica {
		return
	}
	f.tasks.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), tellLimit)
		defer cancel()
		// A follower that was not notified checks by itself.
		_ = f.config.Replicas.Client.Follow(ctx, to, repositoryID)
	})
}

// follow follows one repository until ctx ends.
func (f *follower) follow(ctx context.Context, repositoryID string, wake <-chan struct{}) {
	backoff := jitter.Backoff{Min: 2 * time.Second, Max: followEvery}
	var said, pinned time.Time
	var looked lastLook
	for ctx.Err() == nil {
		wait := jitter.Add(followEvery, followEvery/2)
		began := time.Now()
		news, current, err := f.followOnce(ctx, repositoryID, &looked, began.Sub(pinned) > followedEvery)
		if err == nil && (news || began.Sub(pinned) > followedEvery) {
			pinned = began
		}
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			wait, pinned, looked = backoff.Next(), time.Time{}, lastLook{}
			f.config.Log.Warn("a second copy cannot be brought up to date", logkey.Repository, repositoryID, logkey.Error, err)
		default:
			backoff.Reset()
			if current && (news || time.Since(said) > followedEvery) {
				said = time.Now()
				if err := f.config.Replicas.Placement.Followed(ctx, repositoryID, f.config.Replica); err != nil {
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
	empty   bool      // there was nothing to copy
}

// enough reports whether nothing happened since that needs another comparison.
func (l lastLook) enough(owner string, r Repository) bool {
	return l.owner == owner && l.fetched.Equal(r.Health.FetchedAt) && time.Since(l.at) < lookedEvery
}

// followOnce copies what the owner has and this replica lacks: the mirror, and
// the tarballs that must remain servable, some of which the mirror cannot
// rebuild. It checks tarballs when the mirror had changes, or when all is set.
// current means that this replica has everything that the owner has; it is false
// while nobody owns the repository, or the owner has fetched nothing yet.
func (f *follower) followOnce(ctx context.Context, repositoryID string, looked *lastLook, all bool) (news, current bool, err error) {
	owner, err := f.owners.Owner(ctx, repositoryID)
	switch {
	case errcode.Is(err, errcode.Unavailable), err == nil && (owner.Self || owner.URL == ""):
		return false, false, nil // there is no owner to follow right now
	case err != nil:
		return false, false, err
	}
	r, err := f.store.Repository(ctx, repositoryID)
	if err != nil {
		return false, false, err
	}
	if r.Kind == record.Git && !all && looked.enough(owner.Replica, r) {
		return false, !looked.empty, nil
	}
	if r.Kind == record.Git {
		look := lastLook{at: time.Now(), owner: owner.Replica, fetched: r.Health.FetchedAt}
		if news, err = f.copyMirror(ctx, r, owner.peer()); err != nil {
			return news, false, err
		}
		look.empty = !news && !f.mirror(r.Copy()).Exists(ctx)
		if *looked = look; !(news || all) {
			return false, !look.empty, nil
		}
	}
	// Also without a mirror: what was delivered before the repository moved remains servable.
	copied, err := f.copyPinned(ctx, repositoryID)
	return news || copied, err == nil && !looked.empty, err
}

// copyMirror copies from another replica and reports whether anything new came.
func (f *follower) copyMirror(ctx context.Context, r Repository, from peer.Replica) (news bool, err error) {
	unlock, err := f.lockCopy(ctx, r.Copy())
	if err != nil {
		return false, err
	}
	defer unlock()
	return f.copyLocked(ctx, r, from)
}

func (f *follower) copyLocked(ctx context.Context, r Repository, from peer.Replica) (news bool, err error) {
	local := f.mirror(r.Copy())
	turn := f.copying
	if !local.Exists(ctx) {
		turn = f.seeding
	}
	held, err := turn.Wait(ctx, sharing(r))
	if err != nil {
		return false, err
	}
	defer held.Leave()
	same, err := local.Sync(ctx, func(ctx context.Context, refs string, haves []string, take func(io.Reader) error) (bool, error) {
		return f.config.Replicas.Client.Mirror(ctx, from, r.Copy(), peer.CopyRequest{Refs: refs, Haves: haves}, take)
	})
	if errcode.Is(err, errcode.NotFound) {
		return false, nil // the owner has none yet
	}
	if err == nil && !same {
		f.metrics.copies.Inc()
	}
	return err == nil && !same, err
}

// copyPinned copies every tarball that must remain servable onto this disk.
// Failures are retried with the next change.
func (f *follower) copyPinned(ctx context.Context, repositoryID string) (news bool, err error) {
	pins, err := f.store.Pins(ctx, repositoryID)
	if err != nil {
		return false, err
	}
	var failed error
	for _, p := range pins {
		if f.tarballs.node.Has(p.Digest) {
			continue
		}
		t, err := f.tarballs.Fetch(ctx, p.Digest)
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
func (f *follower) mirror(name string) gitagent.Copy {
	return gitagent.Copy{Mirrors: f.mirrors, Dir: mirrorDir(f.config.Dir, name)}
}

// CopyMirror implements peer.Mirrors.
func (f *follower) CopyMirror(ctx context.Context, name string, r peer.CopyRequest, w io.Writer) (same bool, err error) {
	return f.mirror(name).Write(ctx, r.Refs, r.Haves, w)
}

// seed copies a repository from its owner before it is taken over.
func (f *follower) seed(ctx context.Context, repositoryID string, from peer.Replica) error {
	r, err := f.store.Repository(ctx, repositoryID)
	if err != nil {
		return err
	}
	if r.Kind == record.Git {
		_, err = f.copyMirror(ctx, r, from)
	}
	if err == nil {
		_, err = f.copyPinned(ctx, repositoryID)
	}
	return err
}

// seedFinal copies what a former owner fetched last, if this replica does not
// have it already.
func (f *follower) seedFinal(ctx context.Context, repositoryID string, from peer.Replica, refs string) error {
	if refs == "" || refs == f.refsOf(ctx, repositoryID) {
		return nil
	}
	r, err := f.store.Repository(ctx, repositoryID)
	if err == nil {
		_, err = f.copyMirror(ctx, r, from)
	}
	return err
}

// refsOf returns the hash of the refs of this replica's copy, empty when it is
// unknown.
func (f *follower) refsOf(ctx context.Context, repositoryID string) string {
	r, err := f.store.Repository(ctx, repositoryID)
	if err != nil {
		return ""
	}
	return f.mirror(r.Copy()).Refs(ctx)
}

// seedMissing searches other replicas for a copy when an owner's disk has none,
// because it was lost or never existed. The whole repository is fetched from
// upstream only when no replica has it.
func (f *follower) seedMissing(ctx context.Context, r Repository) (seeded bool) {
	if f.config.Replicas == nil || r.Kind != record.Git || f.mirror(r.Copy()).Exists(ctx) {
		return false
	}
	f.mu.Lock()
	follower := f.names[r.ID]
	f.mu.Unlock()
	// Include those that seem to be gone: their rows may be outdated.
	others := slices.DeleteFunc(f.config.Replicas.Members.Known(), func(r peer.Replica) bool {
		return r.URL == "" || r.Name == f.config.Replica || (!r.Present && f.config.Clock.Now().Sub(r.SeenAt) > seedFrom)
	})
	slices.SortStableFunc(others, func(a, b peer.Replica) int { return worth(b, follower) - worth(a, follower) })
	for _, from := range others {
		news, err := f.copyLocked(ctx, r, from)
		if err != nil && ctx.Err() == nil {
			f.config.Log.Warn("a repository cannot be copied from another replica", logkey.Repository, r.ID, logkey.Replica, from.Name, logkey.Error, err)
		}
		if news || ctx.Err() != nil {
			f.config.Log.Info("a repository was copied from another replica", logkey.Repository, r.ID, logkey.Replica, from.Name)
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

// stop stops the following of a repository that this replica owns now.
func (f *follower) stop(repositoryID string) {
	f.mu.Lock()
	s := f.kept[repositoryID]
	delete(f.kept, repositoryID)
	f.mu.Unlock()
	if s != nil {
		s.cancel()
	}
}

// count returns how many second copies this replica keeps.
func (f *follower) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.kept)
}
