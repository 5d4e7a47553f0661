package gitcache

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/shard"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
)

const (
	// relistEvery limits how long a new repository can go unnoticed when its
	// notice was lost.
	relistEvery = 30 * time.Second
	// lookEvery is the same for placements and leases: an expired lease must be
	// noticed soon.
	lookEvery = 5 * time.Second
	// lookGap is how long notices of changed repositories are collected before
	// one read.
	lookGap = 100 * time.Millisecond
	// lookLimit limits one such read of the database.
	lookLimit = 10 * time.Second
	// planEvery is how often the placing replica plans.
	planEvery = 5 * time.Second
)

// repositoryLister reads all repositories.
type repositoryLister interface {
	Repositories(ctx context.Context) ([]Repository, error)
}

// placer decides with the other replicas which of them owns a repository, and
// carries out the moves that concern this one.
type placer struct {
	config   *Config
	store    repositoryLister
	keeper   *shard.Keeper
	owners   *owners
	follower *follower
	metrics  *metrics
	tasks    *sync.WaitGroup // moves that run in the background
	wake     chan struct{}   // holds one: the list of repositories may be outdated
	listed   atomic.Bool

	mu     sync.Mutex
	known  map[string]bool // repositories in the last listing
	moving map[string]bool // that this replica is taking over
	ending map[string]bool // that this replica is handing over
}

// follow tells the keeper which repositories exist for this replica, and
// carries out the moves that concern it.
func (p *placer) follow(ctx context.Context) error {
	every := relistEvery
	if p.config.Replicas != nil {
		every = lookEvery
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		ids, err := p.mine(ctx)
		switch {
		case err == nil:
			p.keeper.Want(ids)
			p.listed.Store(true)
		case ctx.Err() == nil:
			p.config.Log.Warn("repositories cannot be read", logkey.Error, err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-p.wake:
			// Many notices may come at once, and one read covers them all.
			if jitter.Wait(ctx, lookGap) != nil {
				return nil
			}
			select {
			case <-p.wake:
			default:
			}
		}
	}
}

// mine returns the repositories that this replica owns or may try to acquire.
func (p *placer) mine(ctx context.Context) ([]string, error) {
	var ids []string
	if p.config.Replicas == nil {
		repos, err := p.store.Repositories(ctx)
		for _, r := range repos {
			ids = append(ids, r.ID)
		}
		p.remember(ids, err)
		return ids, err
	}
	call, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	if err := p.config.Replicas.Members.Look(call); err != nil {
		return nil, err
	}
	rows, err := p.config.Replicas.Placement.Placements(call)
	if err != nil {
		return nil, err
	}
	known := p.config.Replicas.Members.Known()
	owned := p.keeper.Owned()
	all := make([]string, len(rows))
	for i, row := range rows {
		all[i] = row.RepositoryID
		// An owned repository is kept until its next owner asks for it.
		if owned[row.RepositoryID] != 0 && !p.handing(row.RepositoryID) || shard.May(p.config.Replica, known, row) {
			ids = append(ids, row.RepositoryID)
		}
	}
	p.remember(all, nil)
	p.placed(ctx, rows)
	return ids, nil
}

// remember records which repositories exist, so that a notice about a known one
// causes no full read.
func (p *placer) remember(ids []string, err error) {
	if err != nil {
		return
	}
	known := make(map[string]bool, len(ids))
	for _, id := range ids {
		known[id] = true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known = known
}

// placed carries out what placements require of this replica: it takes over
// repositories that others still own, and follows those that it keeps a second
// copy of.
func (p *placer) placed(ctx context.Context, rows []Placement) {
	p.follower.keep(ctx, rows)
	for _, row := range rows {
		if row.Preferred != p.config.Replica || !row.Held || row.Owner == p.config.Replica {
			continue
		}
		p.takeOver(ctx, row)
	}
}

// place is the work of the one replica that places repositories.
func (p *placer) place(ctx context.Context, _ int64) error {
	for {
		if err := p.plan(ctx); err != nil && ctx.Err() == nil {
			p.config.Log.Warn("repositories cannot be placed on replicas", logkey.Error, err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(planEvery):
		}
	}
}

func (p *placer) plan(ctx context.Context) error {
	r := p.config.Replicas
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	if err := r.Members.Look(ctx); err != nil {
		return err
	}
	rows, err := r.Placement.Placements(ctx)
	if err != nil {
		return err
	}
	changes := shard.Plan(r.Members.Known(), rows)
	if len(changes) == 0 {
		return nil
	}
	for _, a := range changes {
		if a.Move {
			p.metrics.moves.Inc()
			p.config.Log.Info("a repository moves", logkey.Repository, a.RepositoryID, "to", a.Preferred)
		}
	}
	// Write at most as many rows as one transaction should have.
	for len(changes) > 0 {
		n := min(len(changes), 200)
		if err := r.Placement.Assign(ctx, changes[:n]); err != nil {
			return err
		}
		changes = changes[n:]
	}
	return nil
}

// takeOver moves a repository from its healthy owner to this replica, in its
// own goroutine: copy, ask the owner to stop, take the lease.
func (p *placer) takeOver(ctx context.Context, row Placement) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.moving[row.RepositoryID] || len(p.moving) >= shard.MaxMoving {
		return
	}
	p.moving[row.RepositoryID] = true
	p.tasks.Go(func() {
		defer func() {
			p.mu.Lock()
			delete(p.moving, row.RepositoryID)
			p.mu.Unlock()
		}()
		began := p.config.Clock.Now()
		if err := p.move(ctx, row); err != nil {
			if ctx.Err() == nil {
				p.config.Log.Warn("a repository cannot be taken over yet", logkey.Repository, row.RepositoryID, "from", row.Owner, logkey.Error, err)
			}
			return
		}
		p.config.Log.Info("a repository was taken over", logkey.Repository, row.RepositoryID, "from", row.Owner, logkey.Duration, p.config.Clock.Now().Sub(began))
	})
}

// move carries out one move. A failure at any point leaves a repository that is
// owned, or one that its preferred replica, this one, may take.
func (p *placer) move(ctx context.Context, row Placement) error {
	from, ok := p.config.Replicas.Members.Named(row.Owner)
	if !ok || from.URL == "" {
		return errcode.New(errcode.Unavailable, "replica %s cannot be reached", row.Owner)
	}
	if err := p.follower.seed(ctx, row.RepositoryID, from); err != nil {
		return err
	}
	refs, owned, err := p.config.Replicas.Client.HandOver(ctx, from, row.RepositoryID)
	if err != nil || !owned {
		return err
	}
	p.owners.forget(row.RepositoryID)
	// Copy what it fetched last; no replica writes while the lease is free.
	if err := p.follower.seedFinal(ctx, row.RepositoryID, from, refs); err != nil && ctx.Err() == nil {
		p.config.Log.Warn("the last refs of a former owner were not copied; upstream is asked first", logkey.Repository, row.RepositoryID, logkey.Error, err)
	}
	p.poke()
	return nil
}

// HandOver implements peer.Owner: it ends this replica's work on a repository
// when the repository is placed on the caller.
func (p *placer) HandOver(ctx context.Context, repositoryID, caller string) (refs string, epoch int64, owned bool, err error) {
	if p.config.Replicas == nil || p.keeper.Owns(repositoryID) == 0 {
		return "", 0, false, nil
	}
	placed, err := p.config.Replicas.Placement.Placement(ctx, repositoryID)
	if err != nil {
		return "", 0, false, err
	}
	if placed.Preferred != caller {
		return "", 0, true, errcode.New(errcode.Conflict, "repository %s is placed on %q, not on %q", repositoryID, placed.Preferred, caller)
	}
	p.setHanding(repositoryID, true)
	defer p.setHanding(repositoryID, false)
	if epoch, err = p.keeper.HandOver(ctx, repositoryID); err != nil {
		return "", 0, true, err
	}
	p.owners.forget(repositoryID)
	return p.follower.refsOf(ctx, repositoryID), epoch, epoch != 0, nil
}

func (p *placer) handing(repositoryID string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ending[repositoryID]
}

func (p *placer) setHanding(repositoryID string, on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if on {
		p.ending[repositoryID] = true
	} else {
		delete(p.ending, repositoryID)
	}
}

// exists reports whether the last listing had a repository.
func (p *placer) exists(repositoryID string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known[repositoryID]
}

// poke makes follow read at once.
func (p *placer) poke() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}
