package gitagent

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/pace"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/gitcache/upstream"
	"github.com/axle-cd/axle/hub/gitcache/upstream/repack"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
)

// Agent follows one repository for the time of one lease. Call Run once; the
// other methods are safe for concurrent use while it runs.
type Agent struct {
	config  Config
	pacer   *pace.Pacer
	retries *pace.Retries

	mu      sync.Mutex
	mirror  *upstream.Mirror
	reader  *upstream.Reader
	table   *upstream.Table
	trusted *trusted
	// former is the mirror from before upstream changed its object format.
	former       *upstream.Mirror
	formerReader *upstream.Reader

	gatherer gatherer
	resolved resolved

	// The following fields belong to the goroutine of Run.
	life       context.Context
	server     *upstream.Server
	generation int64
	host       string    // of upstream
	said       error     // upstream's result in this pass
	next       time.Time // pass
	health     record.Health
	begun      bool     // a pass has begun under this lease
	listed     []string // prefixes of the last successful listing; nil is all
	lastAll    time.Time
	lastRepack time.Time
	repack     repack.Repacker
	fetchSeq   int64
	fetchedAt  time.Time
	evaluated  map[string]look                 // by source, when it was last evaluated
	heads      map[string]record.Head          // as stored
	idTried    map[string]time.Time            // commits that upstream did not have
	maxBytes   int64                           // of the mirror, from the repository's options
	anew       bool                            // the mirror is damaged and is rebuilt
	aside      string                          // path of the damaged one
	verified   time.Time                       // when a suspected mirror was found intact
	whole      atomic.Pointer[upstream.Mirror] // that mirror
}

// New returns an agent. It does nothing before Run.
func New(c Config) *Agent {
	c.defaults()
	return &Agent{config: c, gatherer: gatherer{jobs: map[string]*job{}, slots: make(chan struct{}, maxGathering)},
		pacer:     pace.New(pace.Config{Clock: c.Clock, Gap: c.Gap, Poll: c.PollInterval, Spread: c.PollInterval / 2}),
		retries:   pace.NewRetries(c.Clock),
		evaluated: map[string]look{}, heads: map[string]record.Head{}, idTried: map[string]time.Time{}}
}

// Kick requests a pass soon. It returns at once; several kicks are merged into one.
func (a *Agent) Kick() { a.pacer.Kick() }

// SourcesChanged tells the agent that the set of sources in use, or the
// repository's row, may have changed.
func (a *Agent) SourcesChanged() { a.pacer.SourcesChanged() }

// KickAndWait requests a pass and returns the error of one that began after the
// call. It returns at once when the mirror has the given commit.
func (a *Agent) KickAndWait(ctx context.Context, commit string) error {
	if upstream.IsID(commit) && a.has(ctx, commit) {
		return nil
	}
	return a.pacer.KickAndWait(ctx)
}

func (a *Agent) has(ctx context.Context, commit string) bool {
	m, _, _ := a.copy()
	if m == nil {
		return false
	}
	missing, err := m.Missing(ctx, []string{commit})
	return err == nil && len(missing) == 0
}

// copy returns the mirror with its reader and refs as last read; nil before that.
func (a *Agent) copy() (*upstream.Mirror, *upstream.Reader, *upstream.Table) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.mirror, a.reader, a.table
}

// Run follows the repository until ctx ends, which signals the end of the lease.
// It returns early when the store reports that another replica has the lease.
func (a *Agent) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer a.close()
	defer a.gatherer.wg.Wait()
	defer a.repack.Close()
	defer cancel()
	a.life = ctx
	a.open(ctx)
	a.config.Opened()
	return a.pacer.Run(ctx, pace.Steps{Pass: a.pass, SourcesChanged: a.sourcesChanged, Reconfigured: a.reconfigured})
}

// reconfigured reports whether the repository's row differs from the one that
// was last used to contact upstream.
func (a *Agent) reconfigured(ctx context.Context) bool {
	r, err := a.config.Store.Repository(ctx, a.config.RepositoryID)
	if err != nil || a.generation == 0 || r.Generation == a.generation {
		return false
	}
	a.host = pace.HostOf(r.URL)
	return true
}

// open loads what an earlier run left, so that the mirror serves while upstream
// is unreachable.
func (a *Agent) open(ctx context.Context) {
	if r, err := a.config.Store.Repository(ctx, a.config.RepositoryID); err == nil {
		a.health, a.host = r.Health, pace.HostOf(r.URL)
		if h := r.Health; h.State == record.Failed && a.trust(r.Options.Verify) == nil {
			a.generation = r.Generation
			a.pacer.Resume(errcode.New(errcode.Unavailable, "%s", h.Message), h.FailedSince, h.NextAt, !h.CheckedAt.IsZero())
		}
	}
	if err := a.loadHeads(ctx); err != nil {
		a.config.Log.Warn("heads cannot be read yet", logkey.Repository, a.config.RepositoryID, logkey.Error, err)
	}
	if err := a.openMirror(ctx, upstream.FormatOf(a.config.Dir)); err != nil {
		a.config.Log.Warn("mirror cannot be opened", logkey.Repository, a.config.RepositoryID, logkey.Error, err)
	}
	seed(ctx, a)
}

func (a *Agent) loadHeads(ctx context.Context) error {
	heads, err := a.config.Store.Heads(ctx, a.config.RepositoryID)
	if err != nil {
		return err
	}
	clear(a.heads)
	for _, h := range heads {
		a.heads[h.SourceID] = h
	}
	return nil
}

func (a *Agent) close() {
	a.mu.Lock()
	m, former := a.mirror, a.former
	a.mu.Unlock()
	if a.server != nil {
		a.server.Close()
	}
	if m != nil {
		m.Close()
	}
	if former != nil {
		former.Close()
	}
}

// lost reports whether an error means that another replica has the lease.
func lost(err error) bool { return errcode.Is(err, errcode.Conflict) }

// stopped reports whether an error only means that the work was interrupted.
func stopped(err error) bool { return errors.Is(err, context.Canceled) }
