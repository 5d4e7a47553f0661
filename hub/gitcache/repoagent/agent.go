package repoagent

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/pool"
)

// DefaultPoll is the default time between polls.
const DefaultPoll = 2 * time.Minute

// Rows is what an agent reads.
type Rows interface {
	Repository(ctx context.Context, id string) (record.Repository, error)
	Credentials(ctx context.Context, repositoryID string) (record.Credentials, error)
	Sources(ctx context.Context, repositoryID string) ([]record.Source, error)
	Heads(ctx context.Context, repositoryID string) ([]record.Head, error)
	Pins(ctx context.Context, repositoryID string) ([]record.Pin, error)
}

// Results is what an agent writes under its lease.
type Results interface {
	StartFetch(ctx context.Context, repositoryID string, epoch int64, gap time.Duration) error
	WriteHeads(ctx context.Context, repositoryID string, epoch int64, heads []record.Head, artifacts []record.Artifact) error
	WriteHealth(ctx context.Context, repositoryID string, epoch int64, h record.Health) error
}

// Config configures an Agent. All fields without a default are required.
type Config struct {
	RepositoryID string
	Epoch        int64 // of the lease under which the agent lives
	Rows         Rows
	Results      Results

	// Poll is the base time between polls, and Spread the most that is added to it at
	// random; the defaults are 2 min and half of Poll.
	Poll, Spread time.Duration
	// Gap is the minimum time between two starts; default FetchGap.
	Gap time.Duration
	// PassLimit limits one pass; zero sets no limit besides the remote's own.
	PassLimit time.Duration
	Clock     clock.Clock
	Log       *slog.Logger
	// Sharing is the repository as pools know it.
	Sharing pool.Caller
	// Gates are shared by all agents of this replica; nil sets no limit.
	Gates *Gates
	// Bulk, if set, reports whether the next read is a first copy.
	Bulk func() bool
	// Opened, if set, is called when Run has loaded what an earlier lease left.
	Opened func()
	// OnPass, if set, is called at the end of each pass, for metrics.
	OnPass func(fetched bool, err error, took time.Duration)
}

func (c *Config) defaults() {
	if c.Poll <= 0 {
		c.Poll = DefaultPoll
	}
	if c.Spread <= 0 {
		c.Spread = c.Poll / 2
	}
	if c.Gap <= 0 {
		c.Gap = record.FetchGap
	}
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Bulk == nil {
		c.Bulk = func() bool { return false }
	}
	if c.Opened == nil {
		c.Opened = func() {}
	}
	if c.OnPass == nil {
		c.OnPass = func(bool, error, time.Duration) {}
	}
}

// Agent follows one repository for the duration of one lease. Run it once. Kick,
// SourcesChanged, KickAndWait and Told may be called from any goroutine while it
// runs; the other methods are for its Remote.
type Agent struct {
	*Scheduler
	// Config is the configuration with its defaults filled in.
	Config Config
	// Retries record what could not be fetched from upstream.
	Retries *Retries
	// Heads are the stored heads, by source. They belong to the goroutine of Run.
	Heads map[string]record.Head
	// Life is the context of Run, for work that outlives a pass.
	Life context.Context

	remote Remote
	scrub  atomic.Pointer[func(string) string]

	// The following fields belong to the goroutine of Run.
	connected  bool
	generation int64  // of the repository's row at the last Connect
	host       string // of upstream
	begun      bool   // a pass was begun under this lease
	said       error  // by upstream in this pass
	fetched    bool   // something was fetched in this pass
	fetchSeq   int64
	readAt     time.Time
	bytes      int64 // on this disk
	health     record.Health
}

// New returns an agent. It touches nothing until Run.
func New(c Config, r Remote) *Agent {
	c.defaults()
	return &Agent{Config: c, remote: r, Retries: NewRetries(c.Clock), Heads: map[string]record.Head{},
		Scheduler: newScheduler(schedule{Clock: c.Clock, Gap: c.Gap, Poll: c.Poll, Spread: c.Spread})}
}

// Run follows the repository until ctx ends, which signals the end of the lease. It
// returns early when the store reports that another replica has the lease.
func (a *Agent) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(pool.As(ctx, a.Config.Sharing))
	defer a.remote.Close()
	defer cancel()
	a.Life = ctx
	r, err := a.row(ctx)
	if err == nil {
		a.health, a.host = r.Health, HostOf(r.URL)
	}
	if err := a.LoadHeads(ctx); err != nil {
		a.warn("heads cannot be read yet", err)
	}
	resume, err := a.remote.Open(ctx, r)
	if err != nil {
		return err
	}
	if h := a.health; resume && h.State == record.Failed {
		a.generation = r.Generation
		a.resume(errcode.New(errcode.Unavailable, "%s", h.Message), h.FailedSince, h.NextAt, !h.CheckedAt.IsZero())
	}
	a.Config.Opened()
	return a.run(ctx, steps{Pass: a.pass, SourcesChanged: a.sourcesChanged, Reconfigured: a.reconfigured})
}

func (a *Agent) row(ctx context.Context) (record.Repository, error) {
	return a.Config.Rows.Repository(ctx, a.Config.RepositoryID)
}

func (a *Agent) warn(what string, err error) {
	a.Config.Log.Warn(what, logkey.Repository, a.Config.RepositoryID, logkey.Error, err)
}

// reconfigured reports whether the repository's row changed since the last Connect.
func (a *Agent) reconfigured(ctx context.Context) bool {
	r, err := a.row(ctx)
	if err != nil || a.generation == 0 || r.Generation == a.generation {
		return false
	}
	a.host = HostOf(r.URL)
	return true
}

// Connect calls dial with the repository's row and its credentials, unless it
// succeeded before and the row has not changed since. scrub removes the credentials
// from texts; it may be returned together with an error.
func (a *Agent) Connect(ctx context.Context, dial func(record.Repository, record.Credentials) (scrub func(string) string, err error)) error {
	r, err := a.row(ctx)
	if err != nil || a.connected && r.Generation == a.generation {
		return err
	}
	c, err := a.Config.Rows.Credentials(ctx, r.ID)
	if err != nil {
		return err
	}
	a.connected = false
	scrub, err := dial(r, c)
	if scrub != nil {
		a.scrub.Store(&scrub)
	}
	if err != nil {
		return err
	}
	a.connected, a.generation, a.host = true, r.Generation, HostOf(r.URL)
	return nil
}

// Connected reports whether Connect succeeded.
func (a *Agent) Connected() bool { return a.connected }

// Host returns the name of upstream's host for Gates.
func (a *Agent) Host() string { return a.host }

// Said records upstream's last answer in this pass, and returns it.
func (a *Agent) Said(err error) error {
	a.said = err
	return err
}

// Fetched records that this pass fetched content from upstream.
func (a *Agent) Fetched() {
	a.fetched, a.health.FetchedAt = true, a.Config.Clock.Now()
}

// Holds records how many bytes of the repository are stored on this disk.
func (a *Agent) Holds(bytes int64) { a.bytes = bytes }

// Told returns an error as people see it: without credentials.
func (a *Agent) Told(err error) error {
	if scrub := a.scrub.Load(); scrub != nil {
		return record.Told(err, *scrub)
	}
	return record.Told(err, nil)
}
