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
)

// DefaultPoll is the time between polls that upstreams and their owners find
// polite.
const DefaultPoll = 2 * time.Minute

// Config of an Agent. All fields but those with a default are needed.
type Config struct {
	RepositoryID string
	Epoch        int64 // of the lease under which the agent lives
	Store        record.Store

	// Poll is the base time between polls, Spread the most that is added to it at
	// random; default 2 min and half of Poll.
	Poll, Spread time.Duration
	// Gap is the least time between two starts; default FetchGap.
	Gap time.Duration
	// PassLimit bounds one pass; zero is no bound beside the remote's own.
	PassLimit time.Duration
	Clock     clock.Clock
	Log       *slog.Logger
	// Gates are what all agents of this replica pass to ask a host; nil lets
	// everybody through.
	Gates *Gates
	// Bulk, if any, reports whether the next read is a first copy.
	Bulk func() bool
	// Opened, if any, is called when Run has found what an earlier life left.
	Opened func()
	// OnPass, if any, hears of each pass that ended, for metrics.
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

// Agent follows one repository for the time of one lease. Run it once. Kick,
// SourcesChanged, KickAndWait and Told may be called from anywhere while it
// runs; all else is for its Remote.
type Agent struct {
	*Scheduler
	// Config is as it was given, with its defaults.
	Config Config
	// Retries remember what could not be had of upstream.
	Retries *Retries
	// Heads are the rows of the sources as the store has them, by source; of the
	// goroutine of Run.
	Heads map[string]record.Head
	// Life is the context of Run, for what a pass leaves running.
	Life context.Context

	remote Remote
	scrub  atomic.Pointer[func(string) string]

	// What follows belongs to the goroutine of Run.
	connected  bool
	generation int64  // of the row by which upstream was last asked
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

// Run follows the repository until ctx ends, which is how the end of the lease
// is told. It returns early when the store says that the lease is another's.
func (a *Agent) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
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
	return a.Config.Store.Repository(ctx, a.Config.RepositoryID)
}

func (a *Agent) warn(what string, err error) {
	a.Config.Log.Warn(what, logkey.Repository, a.Config.RepositoryID, logkey.Error, err)
}

// reconfigured reports whether the repository's row is another than the one
// that upstream was last asked by.
func (a *Agent) reconfigured(ctx context.Context) bool {
	r, err := a.row(ctx)
	if err != nil || a.generation == 0 || r.Generation == a.generation {
		return false
	}
	a.host = HostOf(r.URL)
	return true
}

// Connect calls dial, with the repository's row and its credentials, when it
// never succeeded or when the row changed since. scrub takes the credentials out
// of texts; it may come with an error.
func (a *Agent) Connect(ctx context.Context, dial func(record.Repository, record.Credentials) (scrub func(string) string, err error)) error {
	r, err := a.row(ctx)
	if err != nil || a.connected && r.Generation == a.generation {
		return err
	}
	c, err := a.Config.Store.Credentials(ctx, r.ID)
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

// Host is the host of upstream, as Gates know it.
func (a *Agent) Host() string { return a.host }

// Said takes note of what upstream answered last in this pass, and returns it.
func (a *Agent) Said(err error) error {
	a.said = err
	return err
}

// Fetched says that content came from upstream in this pass.
func (a *Agent) Fetched() {
	a.fetched, a.health.FetchedAt = true, a.Config.Clock.Now()
}

// Holds says how many bytes of the repository lie on this disk.
func (a *Agent) Holds(bytes int64) { a.bytes = bytes }

// Told is an error as people see it: without credentials.
func (a *Agent) Told(err error) error {
	if scrub := a.scrub.Load(); scrub != nil {
		return record.Told(err, *scrub)
	}
	return record.Told(err, nil)
}
