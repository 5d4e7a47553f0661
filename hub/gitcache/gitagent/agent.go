package gitagent

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/gitcache/upstream"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
)

// Agent follows one repository for the time of one lease. Run it once; the
// other methods may be called from anywhere while it runs.
type Agent struct {
	config Config
	wake   chan struct{} // holds one; says that pending changed

	mu      sync.Mutex
	pending pending
	mirror  *upstream.Mirror
	reader  *upstream.Reader
	table   *upstream.Table
	last    error // of the last pass; errNoPass before the first
	trusted *trusted
	// former is the mirror of another object format that upstream once had.
	former       *upstream.Mirror
	formerReader *upstream.Reader

	gatherer gatherer
	resolved resolved

	// What follows belongs to the goroutine of Run.
	life       context.Context
	server     *upstream.Server
	generation int64
	health     record.Health
	bucket     *rate.Limiter
	lastStart  time.Time // no later start than this has upstream seen
	nextPoll   time.Time
	begun      bool     // a pass was begun under this lease
	listed     []string // prefixes of the last good listing; nil is all
	lastAll    time.Time
	lastRepack time.Time
	failures   int
	fetchSeq   int64
	fetchedAt  time.Time
	evaluated  map[string]look        // by source, when it was last worked out
	heads      map[string]record.Head // as the store has them
	idTried    map[string]time.Time   // commits that upstream did not have
	notBefore  time.Time              // upstream asks to be left alone until then
	maxBytes   int64                  // of the mirror, by the repository's own word
	anew       bool                   // the mirror is damaged and made again
	aside      string                 // where the damaged one lies
	verified   time.Time              // when a doubted mirror was found whole
}

// pending is what callers asked for and Run has not begun.
type pending struct {
	kick    bool // make a pass, at the price of a token
	again   bool // make a pass, for the agent's own reasons
	sources bool // the set of sources changed
	waiters []chan<- error
}

var errNoPass = errcode.New(errcode.Unavailable, "the repository was not read yet; try again in a moment")

// New returns an agent. It touches nothing until Run.
func New(c Config) *Agent {
	c.defaults()
	return &Agent{config: c, gatherer: gatherer{jobs: map[string]*job{}, slots: make(chan struct{}, maxGathering)}, wake: make(chan struct{}, 1), last: errNoPass,
		bucket:    rate.NewLimiter(rate.Every(kickGaps*c.Gap), kickBurst),
		evaluated: map[string]look{}, heads: map[string]record.Head{}, idTried: map[string]time.Time{}}
}

// Kick asks for a pass soon. It returns at once; several kicks are one.
func (a *Agent) Kick() { a.request(func(p *pending) { p.kick = true }) }

// SourcesChanged says that the set of sources in use may have changed.
func (a *Agent) SourcesChanged() { a.request(func(p *pending) { p.sources = true }) }

func (a *Agent) request(change func(*pending)) {
	a.mu.Lock()
	change(&a.pending)
	a.mu.Unlock()
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// KickAndWait asks for a pass and returns the error of one that began after
// the call. With a commit that the mirror has it returns at once.
func (a *Agent) KickAndWait(ctx context.Context, commit string) error {
	if upstream.IsID(commit) && a.has(ctx, commit) {
		return nil
	}
	done := make(chan error, 1)
	a.request(func(p *pending) { p.kick, p.waiters = true, append(p.waiters, done) })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return errcode.Hide(errcode.Unavailable, ctx.Err(), "the repository was not read in time; it will be, look again later")
	}
}

func (a *Agent) has(ctx context.Context, commit string) bool {
	m, _, _ := a.copy()
	if m == nil {
		return false
	}
	missing, err := m.Missing(ctx, []string{commit})
	return err == nil && len(missing) == 0
}

// copy returns the mirror with what was read of it last; nil before that.
func (a *Agent) copy() (*upstream.Mirror, *upstream.Reader, *upstream.Table) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.mirror, a.reader, a.table
}

// Run follows the repository until ctx ends, which is how the end of the lease
// is told. It returns early when the store says that the lease is another's.
func (a *Agent) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer a.close()
	defer a.gatherer.wg.Wait()
	defer cancel()
	a.life = ctx
	a.open(ctx)
	a.nextPoll = a.config.Clock.Now() // at once
	for ctx.Err() == nil {
		work := a.take()
		a.excuse(ctx, &work)
		if work.sources && !a.due(&work) {
			a.sourcesChanged(ctx)
			work.sources = false
		}
		start, ok := a.startAt(work)
		if ok {
			err := a.pass(ctx)
			for _, w := range work.waiters {
				w <- err
			}
			if errcode.Is(err, errcode.Conflict) {
				return err
			}
			continue
		}
		a.putBack(work)
		select {
		case <-ctx.Done():
		case <-a.wake:
		case <-a.config.Clock.After(start.Sub(a.config.Clock.Now())):
		}
	}
	return nil
}

// take removes what is pending, so that requests during a pass are for the
// next one.
func (a *Agent) take() pending {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.pending
	a.pending = pending{}
	return p
}

func (a *Agent) putBack(p pending) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pending.kick = a.pending.kick || p.kick
	a.pending.again = a.pending.again || p.again
	a.pending.sources = a.pending.sources || p.sources
	a.pending.waiters = append(p.waiters, a.pending.waiters...)
}

// open finds what an earlier life left: while upstream is away the mirror
// serves.
func (a *Agent) open(ctx context.Context) {
	if r, err := a.config.Store.Repository(ctx, a.config.RepositoryID); err == nil {
		a.health = r.Health
	}
	if err := a.loadHeads(ctx); err != nil {
		a.config.Log.Warn("heads cannot be read yet", logkey.Repository, a.config.RepositoryID, logkey.Error, err)
	}
	if err := a.openMirror(ctx, upstream.FormatOf(a.config.Dir)); err != nil {
		a.config.Log.Warn("mirror cannot be opened", logkey.Repository, a.config.RepositoryID, logkey.Error, err)
	}
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
	m, former, waiters := a.mirror, a.former, a.pending.waiters
	a.pending = pending{}
	a.mu.Unlock()
	for _, w := range waiters {
		w <- errcode.New(errcode.Unavailable, "this replica stopped following the repository; try again")
	}
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

// lost reports whether an error means that the lease is another's.
func lost(err error) bool { return errcode.Is(err, errcode.Conflict) }

// stopped reports whether an error only says that the work was interrupted.
func stopped(err error) bool { return errors.Is(err, context.Canceled) }
