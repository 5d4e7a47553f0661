package artifactagent

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/pace"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/scrub"
)

// Agent follows one repository for the time of one lease. Run it once; the
// other methods may be called from anywhere while it runs.
type Agent struct {
	config Config
	pacer  *pace.Pacer
	keep   *keep

	mu     sync.Mutex
	asked  map[string]*question // sources that nobody follows, by ID
	seen   map[string]bool      // sources as last evaluated
	lost   map[string]*question // recipes whose file is gone, by digest
	latest map[string]bool      // revisions of heads

	secrets atomic.Pointer[scrub.Scrubber] // of the repository

	// What follows belongs to the goroutine of Run.
	remote     remote
	generation int64
	health     record.Health
	begun      bool // a pass was begun under this lease
	good       bool // a pass went well under this lease
	failures   int
	next       time.Time // pass; zero while one has not said
	fetchSeq   int64
	fetchedAt  time.Time
	fetched    bool                   // something was fetched in this pass
	heads      map[string]record.Head // as the store has them
	refusals   map[string]error       // by key of content that will not change
	lastSweep  time.Time
}

// New returns an agent. It touches nothing until Run.
func New(c Config) *Agent {
	c.defaults()
	return &Agent{config: c, pacer: pace.New(c.Clock, c.Gap), keep: &keep{dir: filepath.Join(c.Dir, "kept"), tmp: filepath.Join(c.Dir, "tmp")},
		asked: map[string]*question{}, seen: map[string]bool{}, lost: map[string]*question{}, latest: map[string]bool{},
		heads: map[string]record.Head{}, refusals: map[string]error{}}
}

// Kick asks for a pass soon. It returns at once; several kicks are one.
func (a *Agent) Kick() { a.pacer.Kick() }

// SourcesChanged says that the set of sources in use may have changed.
func (a *Agent) SourcesChanged() { a.pacer.SourcesChanged() }

// KickAndWait asks for a pass and returns the error of one that began after
// the call. With a revision that a head has it returns at once.
func (a *Agent) KickAndWait(ctx context.Context, revision string) error {
	a.mu.Lock()
	here := revision != "" && a.latest[revision]
	a.mu.Unlock()
	if here {
		return nil
	}
	return a.pacer.KickAndWait(ctx)
}

// Run follows the repository until ctx ends, which is how the end of the lease
// is told. It returns early when the store says that the lease is another's.
func (a *Agent) Run(ctx context.Context) error {
	if err := a.keep.open(); err != nil {
		return err
	}
	defer a.close()
	if r, err := a.config.Store.Repository(ctx, a.config.RepositoryID); err == nil {
		a.health = r.Health
	}
	if err := a.loadHeads(ctx); err != nil {
		a.config.Log.Warn("heads cannot be read yet", logkey.Repository, a.config.RepositoryID, logkey.Error, err)
	}
	return a.pacer.Run(ctx, pace.Steps{Pass: a.timedPass, SourcesChanged: a.sourcesChanged})
}

// timedPass is a pass and when the next is due.
func (a *Agent) timedPass(ctx context.Context) (time.Duration, error) {
	a.next = time.Time{}
	err := a.pass(ctx)
	if a.next.IsZero() {
		a.plan(err) // the pass ended before it could say how it went
	}
	return a.next.Sub(a.config.Clock.Now()), err
}

// plan sets the next pass by how this one went.
func (a *Agent) plan(err error) {
	base, spread := a.config.poll()
	wait := jitter.Add(base, spread)
	if err == nil {
		a.failures, a.good = 0, true
	} else {
		a.failures++
		if !a.good {
			retry := min(maxRetry, firstRetry<<min(a.failures-1, 6), base*4)
			wait = min(wait, jitter.Add(retry, retry/2))
		}
		wait = max(wait, errcode.RetryAfter(err))
	}
	a.next = a.config.Clock.Now().Add(wait)
}

// pass asks upstream, evaluates sources and records how upstream is. An error
// with code Conflict means that the lease is gone.
func (a *Agent) pass(ctx context.Context) error {
	began := a.config.Clock.Now()
	if err := a.start(ctx); err != nil {
		if ctx.Err() == nil && !errcode.Is(err, errcode.Conflict) {
			a.config.Log.Warn("pass cannot start", logkey.Repository, a.config.RepositoryID, logkey.Error, err)
		}
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	a.fetched = false
	asked, lost := a.questions()
	sources, err := a.read(ctx, asked)
	err = a.told(err)
	a.pacer.Started()
	if err != nil && ctx.Err() != nil {
		return err
	}
	late := a.evaluate(ctx, sources, err)
	if errcode.Is(late, errcode.Conflict) || ctx.Err() != nil {
		return late
	}
	a.answer(ctx, asked, lost, err)
	if err == nil {
		err = a.told(late)
	}
	a.plan(err)
	if late := a.recordHealth(ctx, err); errcode.Is(late, errcode.Conflict) {
		return late
	}
	a.sweep(ctx)
	a.config.OnPass(a.fetched, err, a.config.Clock.Now().Sub(began))
	return err
}

// start asks the store for the right to begin and waits as long as it says.
func (a *Agent) start(ctx context.Context) error {
	gap := a.config.Gap
	if !a.begun {
		// An earlier life was killed, perhaps: upstream saw its requests begin
		// a little later than it was recorded.
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

// read asks upstream what there is now.
func (a *Agent) read(ctx context.Context, asked map[string]*question) ([]record.Source, error) {
	sources, err := a.config.Store.Sources(ctx, a.config.RepositoryID)
	if err != nil {
		return nil, err
	}
	if err := a.connect(ctx); err != nil {
		return sources, err
	}
	all := slices.Clone(sources)
	for _, q := range asked {
		all = append(all, q.source)
	}
	if err := a.remote.refresh(ctx, all); err != nil {
		return sources, err
	}
	a.fetchSeq++
	a.fetchedAt = a.config.Clock.Now()
	return sources, nil
}

// connect makes the remote anew when the repository's row changed.
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
	a.remote, a.generation = remote, r.Generation
	return nil
}

// told is an error as people see it.
func (a *Agent) told(err error) error { return record.Told(err, a.secrets.Load().String) }

// recordHealth writes how upstream is, for people and for the repository's
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

// sourcesChanged looks at sources and questions that are new. What upstream
// said last answers them if it can; else it is asked again.
func (a *Agent) sourcesChanged(ctx context.Context) {
	sources, err := a.config.Store.Sources(ctx, a.config.RepositoryID)
	if err != nil {
		a.config.Log.Warn("sources cannot be read", logkey.Repository, a.config.RepositoryID, logkey.Error, err)
		return // the next poll sees them
	}
	r, err := a.config.Store.Repository(ctx, a.config.RepositoryID)
	if a.remote == nil || !a.good || a.failures > 0 || err == nil && r.Generation != a.generation {
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
	if len(fresh)+waiting == 0 {
		return
	}
	if !a.remote.knows(fresh) {
		a.pacer.Again()
		return
	}
	asked, lost := a.questions()
	a.answer(ctx, asked, lost, nil)
	if err := a.evaluate(ctx, sources, nil); err != nil && ctx.Err() == nil {
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
