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
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/gitagent"
	"github.com/axle-cd/axle/hub/gitcache/nodecache"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/gitcache/repoagent"
	"github.com/axle-cd/axle/hub/gitcache/shard"
	"github.com/axle-cd/axle/hub/gitcache/upstream"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/lifecycle"
	"github.com/axle-cd/axle/internal/logkey"
)

// The times of the cache's own maintenance.
const (
	// sweepEvery is how often tarballs and sources are checked for removal.
	sweepEvery = 10 * time.Minute
	// dropAfter is how long a source without services is kept, so that a
	// service that is changed back finds it.
	dropAfter = time.Hour
)

// Cache gives access to upstream content. See the package comment.
type Cache struct {
	config Config
	store  Store
	node   *nodecache.Cache
	git    *upstream.Git
	budget *gitagent.Budget
	gates  *repoagent.Gates
	keeper *shard.Keeper
	// agentStore is the store for agents. It also limits how many agents at
	// once open what an earlier run left: meanwhile a hub with many
	// repositories serves and renews its leases.
	agentStore *limited
	openings   chan struct{}
	metrics    *metrics
	ages       *ages
	// variants are deltas and other forms of the tarballs in node.
	variants *variants
	wake     chan struct{} // holds one: the list of repositories may be outdated
	listed   atomic.Bool

	tasks   sync.WaitGroup // moves and copies that run in the background
	seconds seconds        // copies of repositories that other replicas own

	mu     sync.Mutex
	agents map[string]agent    // that run here, by repository
	known  map[string]bool     // repositories in the last listing
	owners map[string]lookedUp // cached owners, by repository
	moving map[string]bool     // that this replica is taking over
	ending map[string]bool     // that this replica is handing over
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
	git, err := upstream.New(upstream.Config{Allow: config.AllowUpstreamCIDRs, AllowHTTP: config.AllowHTTP, Runner: gitagent.Guard{Command: config.Guard}})
	if err != nil {
		return nil, err
	}
	c := &Cache{config: config, store: config.Store, node: node, git: git, budget: &gitagent.Budget{Each: config.MirrorBytes, Total: config.MirrorsBytes}, wake: make(chan struct{}, 1),
		gates: repoagent.NewGates(config.Clock), agentStore: newLimited(config.Store), openings: make(chan struct{}, maxOpenings),
		agents: map[string]agent{}, owners: map[string]lookedUp{}, moving: map[string]bool{}, ending: map[string]bool{}, seconds: newSeconds()}
	if c.variants, err = newVariants(filepath.Join(config.Dir, "variants")); err != nil {
		return nil, err
	}
	c.metrics = newMetrics(config.Registerer, node)
	c.ages = newAges(config.Clock)
	c.keeper = shard.New(shard.Config{
		Leases: &leases{cache: c, holder: Holder{Replica: config.Replica, Boot: rand.Text()}},
		Own:    c.own, RenewEvery: record.RenewEvery, FenceAfter: record.FenceAfter, Batch: record.LeaseBatch, Log: config.Log,
	})
	watch(config.Registerer, func() int { return len(c.keeper.Owned()) }, c.followed, c.ages)
	return c, nil
}

// Run follows repositories until ctx ends. It releases the leases before it
// returns.
func (c *Cache) Run(ctx context.Context) error {
	parts := []lifecycle.Part{
		{Name: "keep leases", Run: c.keeper.Run},
		{Name: "follow repositories", Run: c.follow},
		{Name: "sweep", Run: c.sweep},
	}
	if r := c.config.Replicas; r != nil {
		parts = append(parts, lifecycle.Part{Name: "place repositories", Run: func(ctx context.Context) error { return r.Lease.Run(ctx, c.place) }})
	}
	err := lifecycle.Run(ctx, parts...)
	c.tasks.Wait()
	if closed := c.git.Close(); err == nil {
		err = closed
	}
	return err
}

// Ready returns nil once Run has read the repositories and the disk is usable.
func (c *Cache) Ready() error {
	if !c.listed.Load() {
		return errcode.New(errcode.Unavailable, "the repositories have not been read yet")
	}
	if _, err := os.Stat(c.config.Dir); err != nil {
		return errcode.New(errcode.Unavailable, "the data folder cannot be used: %w", err)
	}
	return nil
}

// own runs the agent of a repository for the time of one lease.
func (c *Cache) own(ctx context.Context, repositoryID string, epoch int64) error {
	select {
	case c.openings <- struct{}{}:
	case <-ctx.Done():
		return nil
	}
	opened := sync.OnceFunc(func() { <-c.openings })
	defer opened()
	r, err := c.store.Repository(ctx, repositoryID)
	if err != nil {
		return err
	}
	c.stopSecond(repositoryID)
	unlock, err := c.lockCopy(ctx, r.Copy())
	if err != nil {
		return err
	}
	defer unlock()
	c.seedMissing(ctx, r)
	a, err := c.newAgent(r, epoch, opened)
	if err != nil {
		return err
	}
	c.ages.begin(repositoryID, r.Health.State == record.Failed)
	defer c.ages.end(repositoryID)
	c.mu.Lock()
	c.agents[repositoryID] = a
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.agents, repositoryID)
		c.mu.Unlock()
	}()
	return a.Run(ctx)
}

// newAgent creates the agent for a repository's kind.
func (c *Cache) newAgent(r Repository, epoch int64, opened func()) (agent, error) {
	switch r.Kind {
	case record.Git:
		return gitagent.New(gitagent.Config{Agent: agentConfig(c, r, epoch, opened), Git: c.git, Sink: c.node, Parts: parts{c},
			Dir: c.mirrorDir(r.Copy()), Budget: c.budget, MaxPackBytes: c.config.maxPack, Limits: c.config.Limits, Level: c.config.Level,
			Seed: func(ctx context.Context) bool { return c.seedMissing(ctx, r) }}), nil
	case record.Helm, record.OCI, record.Bucket:
		return c.artifactAgent(r, epoch, opened), nil
	}
	return nil, errcode.New(errcode.Unprocessable, "repository %q is of the kind %q, which this hub does not know", r.Name, r.Kind)
}

// agentConfig is what agents of all kinds need.
func agentConfig(c *Cache, r Repository, epoch int64, opened func()) repoagent.Config {
	return repoagent.Config{RepositoryID: r.ID, Epoch: epoch, Store: c.agentStore, Gates: c.gates, Opened: opened, Poll: c.pollEvery(r), Gap: c.config.gap,
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
			c.tellFollower(repositoryID)
		}
	}
}

// mirrorDir returns a mirror's folder, named by a hash because the name of a
// copy is not a path.
func (c *Cache) mirrorDir(name string) string {
	sum := sha256.Sum256([]byte(name))
	return filepath.Join(c.config.Dir, "mirrors", hex.EncodeToString(sum[:16])+".git")
}

func (c *Cache) agent(repositoryID string) agent {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.agents[repositoryID]
}

func (c *Cache) each(do func(agent)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range c.agents {
		do(a)
	}
}

// Changed tells the cache that a repository's row, or its set of sources,
// changed. Call it for each feed row of those kinds. An empty ID means any
// repository. It returns at once and affects only that repository. Without it,
// a change is noticed at the next poll.
func (c *Cache) Changed(repositoryID string) {
	if repositoryID == "" {
		c.each(agent.SourcesChanged)
		c.poke()
		return
	}
	if a := c.agent(repositoryID); a != nil {
		a.SourcesChanged()
		return
	}
	c.mu.Lock()
	known := c.known[repositoryID]
	c.mu.Unlock()
	if !known {
		c.poke()
	}
}

// LookAgain kicks every upstream that this replica follows, and returns at
// once.
func (c *Cache) LookAgain() { c.each(agent.Kick) }

// sweep evicts tarballs and drops sources that no service follows.
func (c *Cache) sweep(ctx context.Context) error {
	for {
		pinned, err := c.store.Pinned(ctx, c.node.Digests())
		if err == nil {
			c.node.SetPinned(pinned)
			c.node.Evict(c.cacheBytes())
			c.variants.stored.Evict(variantBytes)
			_, err = c.store.DropSources(ctx, time.Now().Add(-dropAfter))
		}
		if err == nil {
			err = errors.Join(c.removeMirrors(ctx), c.removeArtifacts(ctx), c.dropInternal(ctx))
		}
		if err != nil && ctx.Err() == nil {
			c.config.Log.Warn("the cache cannot be swept", logkey.Error, err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(sweepEvery):
		}
	}
}

func (c *Cache) cacheBytes() int64 {
	if c.config.CacheBytes > 0 {
		return c.config.CacheBytes
	}
	return 10 << 30
}

// removeMirrors deletes the mirrors of repositories that were deleted, or whose
// URL changed.
func (c *Cache) removeMirrors(ctx context.Context) error {
	repos, err := c.store.Repositories(ctx)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, r := range repos {
		known[filepath.Base(c.mirrorDir(r.Copy()))] = true
	}
	found, err := os.ReadDir(filepath.Join(c.config.Dir, "mirrors"))
	if os.IsNotExist(err) {
		return nil
	}
	for _, d := range found {
		mirror, _, _ := strings.Cut(d.Name(), ".git.") // a mirror that is kept beside its successor
		if !known[d.Name()] && !known[mirror+".git"] {
			c.config.Log.Info("mirror of a deleted or moved repository removed", logkey.Path, d.Name())
			if err := os.RemoveAll(filepath.Join(c.config.Dir, "mirrors", d.Name())); err != nil {
				return err
			}
		}
	}
	return err
}

// leases binds the store's leases to this run of this replica.
type leases struct {
	cache  *Cache
	holder Holder
}

// Acquire implements shard.Leases.
func (l *leases) Acquire(ctx context.Context, ids []string) (map[string]int64, error) {
	return l.cache.store.Acquire(ctx, ids, l.holder, record.LeaseTTL, record.TakeOverGrace)
}

// Renew implements shard.Leases, and passes on kicks that were left in the
// database.
func (l *leases) Renew(ctx context.Context) (map[string]int64, error) {
	held, err := l.cache.store.Renew(ctx, l.holder, record.LeaseTTL)
	if err != nil {
		return nil, err
	}
	out := make(map[string]int64, len(held))
	for _, h := range held {
		out[h.RepositoryID] = h.Epoch
		if a := l.cache.agent(h.RepositoryID); a != nil && !h.KickRequestedAt.IsZero() {
			a.Kick()
		}
	}
	return out, nil
}

// Release implements shard.Leases.
func (l *leases) Release(ctx context.Context, epochs map[string]int64) error {
	return l.cache.store.Release(ctx, epochs, l.holder)
}
