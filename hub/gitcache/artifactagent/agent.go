package artifactagent

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/pace"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/scrub"
)

// Agent follows one repository for the time of one lease. Call Run once; the
// other methods are safe for concurrent use while it runs.
type Agent struct {
	config  Config
	pacer   *pace.Pacer
	retries *pace.Retries
	keep    *keep

	mu     sync.Mutex
	asked  map[string]*question // sources to evaluate without following them, by ID
	seen   map[string]bool      // sources as last evaluated
	lost   map[string]*question // recipes whose file is gone, by digest
	latest map[string]bool      // revisions of heads

	secrets atomic.Pointer[scrub.Scrubber] // of the repository

	// The following fields belong to the goroutine of Run.
	remote     remote
	generation int64
	health     record.Health
	host       string    // of upstream
	said       error     // upstream's result in this pass
	begun      bool      // a pass has begun under this lease
	next       time.Time // pass
	fetchSeq   int64
	fetchedAt  time.Time
	fetched    bool                   // something was fetched in this pass
	heads      map[string]record.Head // as stored
	refusals   map[string]error       // by key, of content that will not change
	lastSweep  time.Time
}

// New returns an agent. It does nothing before Run.
func New(c Config) *Agent {
	c.defaults()
	base, spread := c.poll()
	return &Agent{config: c, pacer: pace.New(pace.Config{Clock: c.Clock, Gap: c.Gap, Poll: base, Spread: spread}), retries: pace.NewRetries(c.Clock), keep: &keep{dir: filepath.Join(c.Dir, "kept"), tmp: filepath.Join(c.Dir, "tmp")},
		asked: map[string]*question{}, seen: map[string]bool{}, lost: map[string]*question{}, latest: map[string]bool{},
		heads: map[string]record.Head{}, refusals: map[string]error{}}
}

// Kick requests a pass soon. It returns at once; several kicks are merged into
// one.
func (a *Agent) Kick() { a.pacer.Kick() }

// SourcesChanged tells the agent that the set of sources in use may have
// changed.
func (a *Agent) SourcesChanged() { a.pacer.SourcesChanged() }

// KickAndWait requests a pass and returns the error of one that began after the
// call. It returns at once when a head has the given revision.
func (a *Agent) KickAndWait(ctx context.Context, revision string) error {
	a.mu.Lock()
	here := revision != "" && a.latest[revision]
	a.mu.Unlock()
	if here {
		return nil
	}
	return a.pacer.KickAndWait(ctx)
}

// Run follows the repository until ctx ends, which signals the end of the
// lease. It returns early when the store reports that another replica has the
// lease.
func (a *Agent) Run(ctx context.Context) error {
	if err := a.keep.open(); err != nil {
		return err
	}
	defer a.close()
	if r, err := a.config.Store.Repository(ctx, a.config.RepositoryID); err == nil {
		a.health, a.host = r.Health, pace.HostOf(r.URL)
		if h := r.Health; h.State == record.Failed {
			a.generation = r.Generation
			a.pacer.Resume(errcode.New(errcode.Unavailable, "%s", h.Message), h.FailedSince, h.NextAt, !h.CheckedAt.IsZero())
		}
	}
	if err := a.loadHeads(ctx); err != nil {
		a.config.Log.Warn("heads cannot be read yet", logkey.Repository, a.config.RepositoryID, logkey.Error, err)
	}
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

// pass contacts upstream, evaluates sources and records upstream's health. An
// error with code Conflict means that the lease is lost.
func (a *Agent) pass(life context.Context, urgent bool) error {
	ctx, cancel := context.WithTimeout(life, passTimeout)
	defer cancel()
	began := a.config.Clock.Now()
	if urgent {
		a.retries.Lift()
	}
	asked, lost := a.questions()
	leave, err := a.config.Gates.Enter(ctx, pace.Turn{Host: a.host, Urgent: urgent})
	if errors.Is(err, pace.ErrClosed) && a.health.State == record.Failed {
		a.answer(ctx, asked, lost, err)
		a.next = a.pacer.Plan(err)
		return err
	}
	sources, late := a.config.Store.Sources(ctx, a.config.RepositoryID)
	a.fetched = false
	if err == nil {
		a.said = context.Canceled // no result yet
		if late == nil {
			late, err = a.askUpstream(ctx, sources, asked)
		}
		leave(a.said)
	}
	if late != nil {
		return a.postpone(life, asked, lost, late)
	}
	if err != nil && life.Err() != nil {
		return err
	}
	err = a.told(err)
	late = a.evaluate(ctx, sources, err)
	if errcode.Is(late, errcode.Conflict) || life.Err() != nil {
		return late
	}
	a.answer(ctx, asked, lost, err)
	if err == nil {
		err = a.told(late)
	}
	a.next = a.pacer.Plan(err)
	if late := a.recordHealth(life, err); errcode.Is(late, errcode.Conflict) {
		return late
	}
	a.sweep(ctx)
	a.config.OnPass(a.fetched, err, a.config.Clock.Now().Sub(began))
	return err
}

// postpone retries a pass soon that the store did not allow to begin.
func (a *Agent) postpone(ctx context.Context, asked, lost map[string]*question, err error) error {
	a.answer(ctx, asked, lost, err)
	if ctx.Err() == nil && !errcode.Is(err, errcode.Conflict) {
		a.config.Log.Warn("pass cannot start", logkey.Repository, a.config.RepositoryID, logkey.Error, err)
	}
	a.pacer.Postpone()
	return err
}

// askUpstream reads the current state when the store allows it. A result that
// comes too late says nothing about upstream.
func (a *Agent) askUpstream(ctx context.Context, sources []record.Source, asked map[string]*question) (late, err error) {
	if late = a.start(ctx); late != nil {
		return late, nil
	}
	defer a.pacer.Started()
	if err := a.connect(ctx); err != nil {
		return nil, err
	}
	all := slices.Clone(sources)
	for _, q := range asked {
		all = append(all, q.source)
	}
	if a.said = a.remote.refresh(ctx, all); a.said != nil {
		return nil, a.said
	}
	a.fetchSeq++
	a.fetchedAt = a.config.Clock.Now()
	return nil, nil
}

// start asks the store for permission to begin and waits as long as it says.
func (a *Agent) start(ctx context.Context) error {
	gap := a.config.Gap
	if !a.begun {
		// An earlier run may have been killed: upstream saw its requests begin
		// a little later than was recorded.
		gap += gap * 2 / 5
	}
	for {
		err := a.config.Store.StartFetch(ctx, a.config.RepositoryID, a.config.Epoch, gap)
		a.pacer.Started()
		if !errcode.Is(err, errcode.Exhausted) {
			a.begun = a.begun || err == nil
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-a.config.Clock.After(max(10*time.Millisecond, errcode.RetryAfter(err))):
		}
	}
}

// connect creates the remote again when the repository's row changed.
func (a *Agent) connect(ctx context.Context) error {
	r, err := a.config.Store.Repository(ctx, a.config.RepositoryID)
	if err != nil {
		return err
	}
	if a.remote != nil && r.Generation == a.generation {
		return nil
	}
	c, err := a.config.Store.Credentials(ctx, r.ID)
	if err != nil {
		return err
	}
	if a.remote != nil {
		a.remote.close()
		a.remote = nil
	}
	clear(a.refusals)
	a.secrets.Store(secretsOf(c))
	remote, err := a.config.open(r, c)
	if err != nil {
		return err
	}
	a.remote, a.generation, a.host = remote, r.Generation, pace.HostOf(r.URL)
	return nil
}

// told converts an error for people.
func (a *Agent) told(err error) error { return record.Told(err, a.secrets.Load().String) }

// recordHealth writes upstream's health, for people and for the repository's
// status.
func (a *Agent) recordHealth(ctx context.Context, err error) error {
	now := a.config.Clock.Now()
	h := a.health
	if err == nil {
		h.State, h.Message, h.CheckedAt, h.FailedSince = record.Pullable, "", now, time.Time{}
		if a.fetched {
			h.FetchedAt = now
		}
	} else {
		if h.State != record.Failed || h.FailedSince.IsZero() {
			h.FailedSince = now
		}
		h.State, h.Message = record.Failed, errcode.Message(err)
		a.config.Log.Warn("upstream cannot be read", logkey.Repository, a.config.RepositoryID, logkey.Error, err)
	}
	h.Bytes, h.NextAt = a.keep.size(), a.next
	if err := a.config.Store.WriteHealth(ctx, a.config.RepositoryID, a.config.Epoch, h); err != nil {
		return err
	}
	a.health = h
	return nil
}

// sourcesChanged handles new sources and questions. Upstream's last result
// answers them if it can; otherwise upstream is contacted again. While upstream
// fails they get its error: it is not contacted sooner because of them.
func (a *Agent) sourcesChanged(ctx context.Context) {
	sources, err := a.config.Store.Sources(ctx, a.config.RepositoryID)
	if err != nil {
		a.config.Log.Warn("sources cannot be read", logkey.Repository, a.config.RepositoryID, logkey.Error, err)
		return // the next poll handles them
	}
	failing := a.pacer.Failing()
	if !failing && (a.remote == nil || a.pacer.Last() != nil) {
		a.pacer.Again()
		return
	}
	a.mu.Lock()
	var fresh []record.Source
	for _, q := range a.asked {
		fresh = append(fresh, q.source)
	}
	waiting := len(a.asked) + len(a.lost)
	for _, s := range sources {
		if !a.seen[s.ID] {
			fresh = append(fresh, s)
		}
	}
	a.mu.Unlock()
	switch {
	case failing:
		err = a.pacer.Last()
	case len(fresh)+waiting == 0 && !a.retries.Waiting():
		return
	case !a.remote.knows(fresh):
		a.pacer.Again()
		return
	}
	asked, lost := a.questions()
	a.answer(ctx, asked, lost, err)
	if err := a.evaluate(ctx, sources, err); err != nil && ctx.Err() == nil {
		a.config.Log.Warn("sources cannot be evaluated", logkey.Repository, a.config.RepositoryID, logkey.Error, err)
	}
}

func (a *Agent) loadHeads(ctx context.Context) error {
	heads, err := a.config.Store.Heads(ctx, a.config.RepositoryID)
	if err != nil {
		return err
	}
	latest := map[string]bool{}
	clear(a.heads)
	for _, h := range heads {
		a.heads[h.SourceID] = h
		latest[h.Revision] = h.Error == ""
	}
	a.mu.Lock()
	a.latest = latest
	a.mu.Unlock()
	return nil
}

func (a *Agent) close() {
	a.mu.Lock()
	waiting := slices.Concat(slices.Collect(maps.Values(a.asked)), slices.Collect(maps.Values(a.lost)))
	a.mu.Unlock()
	for _, q := range waiting {
		q.end(record.Head{}, errcode.New(errcode.Unavailable, "this replica stopped following the repository; try again"))
	}
	if a.remote != nil {
		a.remote.close()
	}
}
