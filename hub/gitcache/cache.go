package gitcache

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/gitagent"
	"github.com/axle-cd/axle/hub/gitcache/mirror"
	"github.com/axle-cd/axle/hub/gitcache/nodecache"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/gitcache/repoagent"
	"github.com/axle-cd/axle/hub/gitcache/shard"
	"github.com/axle-cd/axle/hub/gitcache/upstream/git"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/lifecycle"
	"github.com/axle-cd/axle/internal/pool"
)

// Cache gives access to upstream content. See the package comment. Its parts
// have a lock each, and hold it only while they read or write their own maps:
//
//	owners     the agents that run here, and what is known of other owners
//	placer     which repositories exist, come and go
//	follower   second copies, and the locks of copies: the holder of one, an
//	           agent or a copy from another replica, alone changes that mirror
type Cache struct {
	*repositories
	*owners
	*tarballs
	*follower
	*placer

	config Config
	store  Store
	budget *gitagent.Budget
	gates  *repoagent.Gates
	keeper *shard.Keeper
	// agentStore is the store for agents. It also limits how many agents at
	// once open what an earlier run left: meanwhile a hub with many
	// repositories serves and renews its leases.
	agentStore *limited
	openings   *pool.Places
	metrics    *metrics
	ages       *ages
	tasks      sync.WaitGroup // moves and copies that run in the background
}

// agent follows one repository for the time of one lease; each kind of
// repository has its own implementation.
type agent interface {
	Run(ctx context.Context) error
	// Kick requests a pass soon and returns at once; KickAndWait returns the
	// error of a pass that began after the call.
	Kick()
	KickAndWait(ctx context.Context, revision string) error
	// SourcesChanged tells the agent that the set of sources in use may have
	// changed.
	SourcesChanged()
	// Resolve evaluates a source without following it, as upstream was last
	// read.
	Resolve(ctx context.Context, s Source) (Head, error)
	// Rebuild writes the tarball of a recipe without contacting upstream.
	Rebuild(ctx context.Context, r Recipe, w io.Writer) (digest.Digest, error)
}

// New checks the configuration and opens the folder. The work is done by Run.
func New(config Config) (*Cache, error) {
	if err := config.check(); err != nil {
		return nil, err
	}
	node, err := nodecache.New(nodecache.Config{Dir: filepath.Join(config.Dir, "tarballs"), MaxBytes: config.CacheBytes})
	if err != nil {
		return nil, err
	}
	variants, err := newVariants(filepath.Join(config.Dir, "variants"), config.Pools)
	if err != nil {
		return nil, err
	}
	servers, err := git.New(git.Config{Allow: config.AllowUpstreamCIDRs, Hosts: config.AllowUpstreamHosts, AllowHTTP: config.AllowHTTP, Runner: gitagent.Guard{Command: config.Guard}})
	if err != nil {
		return nil, err
	}
	c := &Cache{config: config, store: config.Store, budget: &gitagent.Budget{Each: config.MirrorBytes, Total: config.MirrorsBytes},
		gates: repoagent.NewGates(config.Clock, config.Pools), agentStore: newLimited(config.Store), openings: sharedWork(config.Pools, "repository_openings", "repositories that are opened", maxOpenings),
		metrics: newMetrics(config.Registerer, node), ages: newAges(config.Clock)}
	c.repositories = &repositories{config: &c.config, rows: config.Store, sources: config.Store, changes: config.Store, git: servers, changed: c.Changed}
	c.owners = &owners{config: &c.config, store: config.Store, agents: map[string]agent{}, cached: map[string]lookedUp{}}
	c.keeper = shard.New(shard.Config{
		Leases: &leases{store: config.Store, owners: c.owners, holder: Holder{Replica: config.Replica, Boot: rand.Text()}},
		Own:    c.own, RenewEvery: record.RenewEvery, FenceAfter: record.FenceAfter, Batch: record.LeaseBatch, Log: config.Log,
	})
	c.owners.keeper = c.keeper
	c.tarballs = &tarballs{config: &c.config, store: config.Store, owners: c.owners, node: node, metrics: c.metrics, variants: variants}
	c.follower = &follower{config: &c.config, store: config.Store, owners: c.owners, tarballs: c.tarballs, mirrors: mirror.NewPool(config.Pools), metrics: c.metrics, tasks: &c.tasks,
		seeding: sharedWork(config.Pools, "mirror_seeds", "first copies from other replicas", shard.MaxMoving), copying: sharedWork(config.Pools, "mirror_copies", "copies from other replicas", maxCopying),
		kept: map[string]*secondCopy{}, locks: map[string]chan struct{}{}, names: map[string]string{}}
	c.placer = &placer{config: &c.config, store: config.Store, keeper: c.keeper, owners: c.owners, follower: c.follower, metrics: c.metrics, tasks: &c.tasks,
		wake: make(chan struct{}, 1), known: map[string]bool{}, moving: map[string]bool{}, ending: map[string]bool{}}
	watch(config.Registerer, func() int { return len(c.keeper.Owned()) }, c.follower.count, c.ages)
	return c, nil
}

// Run follows repositories until ctx ends. It releases the leases before it
// returns.
func (c *Cache) Run(ctx context.Context) error {
	parts := []lifecycle.Part{
		{Name: "keep leases", Run: c.keeper.Run},
		{Name: "follow repositories", Run: c.placer.follow},
		{Name: "sweep", Run: (&sweeper{&c.config, c.store, c.tarballs, c.repositories}).run},
	}
	if r := c.config.Replicas; r != nil {
		parts = append(parts, lifecycle.Part{Name: "place repositories", Run: func(ctx context.Context) error { return r.Lease.Run(ctx, c.placer.place) }})
	}
	err := lifecycle.Run(ctx, parts...)
	c.tasks.Wait()
	if closed := c.repositories.git.Close(); err == nil {
		err = closed
	}
	return err
}

// Ready returns nil once Run has read the repositories and the disk is usable.
func (c *Cache) Ready() error {
	if !c.placer.listed.Load() {
		return errcode.New(errcode.Unavailable, "the repositories have not been read yet")
	}
	if _, err := os.Stat(c.config.Dir); err != nil {
		return errcode.New(errcode.Unavailable, "the data folder cannot be used: %w", err)
	}
	return nil
}

// sharing is a repository as pools know it.
func sharing(r Repository) pool.Caller { return pool.Caller{Name: r.ID, Project: r.ProjectID} }

// sharedWork are places for work of the hub's own, of which a project without company gets
// so many. Nobody is refused: each repository comes again anyway.
func sharedWork(pools *pool.Set, name, of string, share int) *pool.Places {
	return pools.Places(pool.Spec{Name: name, Of: of, Size: pool.SizeFor(share), Retry: time.Second, Patient: true})
}

// own runs the agent of a repository for the time of one lease.
func (c *Cache) own(ctx context.Context, repositoryID string, epoch int64) error {
	r, err := c.agentStore.Repository(ctx, repositoryID)
	if err != nil {
		return err
	}
	opening, err := c.openings.Wait(ctx, sharing(r))
	if err != nil {
		return nil //nolint:nilerr // the lease has ended
	}
	defer opening.Leave()
	c.follower.stop(repositoryID)
	unlock, err := c.follower.lockCopy(ctx, r.Copy())
	if err != nil {
		return err
	}
	defer unlock()
	c.follower.seedMissing(ctx, r)
	a, err := c.newAgent(r, epoch, opening.Leave)
	if err != nil {
		return err
	}
	c.ages.begin(repositoryID, r.Health.State == record.Failed)
	defer c.ages.end(repositoryID)
	return c.owners.run(ctx, repositoryID, a)
}

// newAgent creates the agent for a repository's kind.
func (c *Cache) newAgent(r Repository, epoch int64, opened func()) (agent, error) {
	switch r.Kind {
	case record.Git:
		return gitagent.New(gitagent.Config{Agent: agentConfig(c, r, epoch, opened), Git: c.repositories.git, Mirrors: c.follower.mirrors, Sink: c.tarballs.node, Parts: parts{c},
			Dir: mirrorDir(c.config.Dir, r.Copy()), Budget: c.budget, MaxPackBytes: c.config.maxPack, Limits: c.config.Limits, Level: c.config.Level,
			Seed: func(ctx context.Context) bool { return c.follower.seedMissing(ctx, r) }}), nil
	case record.Helm, record.OCI, record.Bucket:
		return c.artifactAgent(r, epoch, opened), nil
	}
	return nil, errcode.New(errcode.Unprocessable, "repository %q is of the kind %q, which this hub does not know", r.Name, r.Kind)
}

// agentConfig is what agents of all kinds need.
func agentConfig(c *Cache, r Repository, epoch int64, opened func()) repoagent.Config {
	return repoagent.Config{RepositoryID: r.ID, Sharing: sharing(r), Epoch: epoch, Rows: c.agentStore, Results: c.agentStore, Gates: c.gates, Opened: opened, Poll: c.config.pollEvery(r), Gap: c.config.gap,
		Clock: c.config.Clock, Log: c.config.Log, OnPass: c.passed(r.ID)}
}

// passed returns a function that an agent calls after each pass.
func (c *Cache) passed(repositoryID string) func(fetched bool, err error, took time.Duration) {
	return func(fetched bool, err error, took time.Duration) {
		c.metrics.pass(fetched, err, took)
		switch {
		case err == nil:
			c.ages.good(repositoryID)
		case !errors.Is(err, context.Canceled):
			c.ages.bad(repositoryID)
		}
		if fetched {
			c.follower.notify(repositoryID)
		}
	}
}

// mirrorDir returns a mirror's folder, named by a hash because the name of a
// copy is not a path.
func mirrorDir(dir, name string) string { return filepath.Join(dir, "mirrors", hashName(name)+".git") }

func hashName(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:16])
}

// Changed tells the cache that a repository's row, or its set of sources,
// changed. Call it for each feed row of those kinds. An empty ID means any
// repository. It returns at once and affects only that repository. Without it,
// a change is noticed at the next poll.
func (c *Cache) Changed(repositoryID string) {
	if repositoryID == "" {
		c.owners.each(agent.SourcesChanged)
		c.placer.poke()
		return
	}
	if a := c.owners.agent(repositoryID); a != nil {
		a.SourcesChanged()
		return
	}
	if !c.placer.exists(repositoryID) {
		c.placer.poke()
	}
}

// LookAgain kicks every upstream that this replica follows, and returns at
// once.
func (c *Cache) LookAgain() { c.owners.each(agent.Kick) }

// leases binds the store's leases to this run of this replica.
type leases struct {
	store  record.Lease
	owners *owners
	holder Holder
}

// Acquire implements shard.Leases.
func (l *leases) Acquire(ctx context.Context, ids []string) (map[string]int64, error) {
	return l.store.Acquire(ctx, ids, l.holder, record.LeaseTTL, record.TakeOverGrace)
}

// Renew implements shard.Leases, and passes on kicks that were left in the
// database.
func (l *leases) Renew(ctx context.Context) (map[string]int64, error) {
	held, err := l.store.Renew(ctx, l.holder, record.LeaseTTL)
	if err != nil {
		return nil, err
	}
	out := make(map[string]int64, len(held))
	for _, h := range held {
		out[h.RepositoryID] = h.Epoch
		if a := l.owners.agent(h.RepositoryID); a != nil && !h.KickRequestedAt.IsZero() {
			a.Kick()
		}
	}
	return out, nil
}

// Release implements shard.Leases.
func (l *leases) Release(ctx context.Context, epochs map[string]int64) error {
	return l.store.Release(ctx, epochs, l.holder)
}
