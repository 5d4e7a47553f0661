package gitcache

import (
	"context"
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

// follow tells the keeper which repositories exist for this replica, and
// carries out the moves that concern it.
func (c *Cache) follow(ctx context.Context) error {
	every := relistEvery
	if c.config.Replicas != nil {
		every = lookEvery
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		ids, err := c.mine(ctx)
		switch {
		case err == nil:
			c.keeper.Want(ids)
			c.listed.Store(true)
		case ctx.Err() == nil:
			c.config.Log.Warn("repositories cannot be read", logkey.Error, err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-c.wake:
			// Many notices may come at once, and one read covers them all.
			if jitter.Wait(ctx, lookGap) != nil {
				return nil
			}
			select {
			case <-c.wake:
			default:
			}
		}
	}
}

// mine returns the repositories that this replica owns or may try to acquire.
func (c *Cache) mine(ctx context.Context) ([]string, error) {
	var ids []string
	if c.config.Replicas == nil {
		repos, err := c.store.Repositories(ctx)
		for _, r := range repos {
			ids = append(ids, r.ID)
		}
		remember(c, ids, err)
		return ids, err
	}
	call, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	if err := c.config.Replicas.Members.Look(call); err != nil {
		return nil, err
	}
	rows, err := c.config.Replicas.Placement.Placements(call)
	if err != nil {
		return nil, err
	}
	known := c.config.Replicas.Members.Known()
	owned := c.keeper.Owned()
	all := make([]string, len(rows))
	for i, row := range rows {
		all[i] = row.RepositoryID
		// An owned repository is kept until its next owner asks for it.
		if owned[row.RepositoryID] != 0 && !c.handing(row.RepositoryID) || shard.May(c.config.Replica, known, row) {
			ids = append(ids, row.RepositoryID)
		}
	}
	remember(c, all, nil)
	c.placed(ctx, rows)
	return ids, nil
}

// remember records which repositories exist, so that a notice about a known one
// causes no full read.
func remember(c *Cache, ids []string, err error) {
	if err != nil {
		return
	}
	known := make(map[string]bool, len(ids))
	for _, id := range ids {
		known[id] = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = known
}

// placed carries out what placements require of this replica: it takes over
// repositories that others still own, and follows those that it keeps a second
// copy of.
func (c *Cache) placed(ctx context.Context, rows []Placement) {
	c.keepSeconds(ctx, rows)
	for _, row := range rows {
		if row.Preferred != c.config.Replica || !row.Held || row.Owner == c.config.Replica {
			continue
		}
		c.takeOver(ctx, row)
	}
}

// place is the work of the one replica that places repositories.
func (c *Cache) place(ctx context.Context, _ int64) error {
	for {
		if err := c.plan(ctx); err != nil && ctx.Err() == nil {
			c.config.Log.Warn("repositories cannot be placed on replicas", logkey.Error, err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(planEvery):
		}
	}
}

func (c *Cache) plan(ctx context.Context) error {
	r := c.config.Replicas
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
			c.metrics.moves.Inc()
			c.config.Log.Info("a repository moves", logkey.Repository, a.RepositoryID, "to", a.Preferred)
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
func (c *Cache) takeOver(ctx context.Context, row Placement) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.moving[row.RepositoryID] || len(c.moving) >= shard.MaxMoving {
		return
	}
	c.moving[row.RepositoryID] = true
	c.tasks.Go(func() {
		defer func() {
			c.mu.Lock()
			delete(c.moving, row.RepositoryID)
			c.mu.Unlock()
		}()
		began := c.config.Clock.Now()
		if err := c.move(ctx, row); err != nil {
			if ctx.Err() == nil {
				c.config.Log.Warn("a repository cannot be taken over yet", logkey.Repository, row.RepositoryID, "from", row.Owner, logkey.Error, err)
			}
			return
		}
		c.config.Log.Info("a repository was taken over", logkey.Repository, row.RepositoryID, "from", row.Owner, logkey.Duration, c.config.Clock.Now().Sub(began))
	})
}

// move carries out one move. A failure at any point leaves a repository that is
// owned, or one that its preferred replica, this one, may take.
func (c *Cache) move(ctx context.Context, row Placement) error {
	from, ok := c.config.Replicas.Members.Named(row.Owner)
	if !ok || from.URL == "" {
		return errcode.New(errcode.Unavailable, "replica %s cannot be reached", row.Owner)
	}
	if err := c.seed(ctx, row.RepositoryID, from); err != nil {
		return err
	}
	refs, owned, err := c.config.Replicas.Client.HandOver(ctx, from, row.RepositoryID)
	if err != nil || !owned {
		return err
	}
	c.forget(row.RepositoryID)
	// Copy what it fetched last; no replica writes while the lease is free.
	if err := c.seedFinal(ctx, row.RepositoryID, from, refs); err != nil && ctx.Err() == nil {
		c.config.Log.Warn("the last refs of a former owner were not copied; upstream is asked first", logkey.Repository, row.RepositoryID, logkey.Error, err)
	}
	c.poke()
	return nil
}

// HandOver implements peer.Owner: it ends this replica's work on a repository
// when the repository is placed on the caller.
func (c *Cache) HandOver(ctx context.Context, repositoryID, caller string) (refs string, epoch int64, owned bool, err error) {
	if c.config.Replicas == nil || c.keeper.Owns(repositoryID) == 0 {
		return "", 0, false, nil
	}
	p, err := c.config.Replicas.Placement.Placement(ctx, repositoryID)
	if err != nil {
		return "", 0, false, err
	}
	if p.Preferred != caller {
		return "", 0, true, errcode.New(errcode.Conflict, "repository %s is placed on %q, not on %q", repositoryID, p.Preferred, caller)
	}
	c.setHanding(repositoryID, true)
	defer c.setHanding(repositoryID, false)
	if epoch, err = c.keeper.HandOver(ctx, repositoryID); err != nil {
		return "", 0, true, err
	}
	c.forget(repositoryID)
	return c.refsOf(ctx, repositoryID), epoch, epoch != 0, nil
}

// forget drops the cached owner of a repository.
func (c *Cache) forget(repositoryID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.owners, repositoryID)
}

func (c *Cache) handing(repositoryID string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ending[repositoryID]
}

func (c *Cache) setHanding(repositoryID string, on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if on {
		c.ending[repositoryID] = true
	} else {
		delete(c.ending, repositoryID)
	}
}

// poke makes follow read at once.
func (c *Cache) poke() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}
