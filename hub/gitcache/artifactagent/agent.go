package artifactagent

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/gitcache/repoagent"
	"github.com/axle-cd/axle/internal/errcode"
)

// Agent is the agent of a chart repository, a registry's repository or a
// bucket.
type Agent struct {
	*repoagent.Agent
	config Config
	keep   *keep

	mu     sync.Mutex
	asked  map[string]*question // sources to evaluate without following them, by ID
	seen   map[string]bool      // sources as last evaluated
	lost   map[string]*question // recipes whose file is gone, by digest
	latest map[string]bool      // revisions of heads

	// The following fields belong to the goroutine of Run.
	protocol  protocol
	taken     questions        // that are to be answered
	took      bool             // the read of this pass took them
	refusals  map[string]error // by key of content that will not change
	lastSweep time.Time
}

// New returns an agent. It does nothing before Run.
func New(c Config) *Agent {
	c.defaults()
	a := &Agent{config: c, keep: &keep{dir: filepath.Join(c.Dir, "kept"), tmp: filepath.Join(c.Dir, "tmp")},
		asked: map[string]*question{}, seen: map[string]bool{}, lost: map[string]*question{}, latest: map[string]bool{}, refusals: map[string]error{}}
	a.Agent = repoagent.New(c.Agent, remote{a})
	return a
}

// remote is the agent as its repoagent.Remote.
type remote struct{ *Agent }

// KickAndWait requests a pass and returns the error of one that began after the
// call. It returns at once when a head has the given revision.
func (a *Agent) KickAndWait(ctx context.Context, revision string) error {
	a.mu.Lock()
	here := revision != "" && a.latest[revision]
	a.mu.Unlock()
	if here {
		return nil
	}
	return a.Agent.KickAndWait(ctx)
}

// Open implements repoagent.Remote.
func (a remote) Open(context.Context, record.Repository) (resume bool, err error) {
	a.showLatest()
	return true, a.keep.open()
}

// Read implements repoagent.Remote: it asks what there is now for the sources
// and for those that somebody asked about.
func (a remote) Read(ctx context.Context, sources []record.Source) error {
	a.take()
	if err := a.connect(ctx); err != nil {
		return err
	}
	all := slices.Clone(sources)
	for _, q := range a.taken.asked {
		all = append(all, q.source)
	}
	return a.Said(a.protocol.refresh(ctx, all))
}

// connect makes the protocol's client anew when the repository's row changed.
func (a *Agent) connect(ctx context.Context) error {
	return a.Connect(ctx, func(r record.Repository, c record.Credentials) (func(string) string, error) {
		if a.protocol != nil {
			a.protocol.close()
			a.protocol = nil
		}
		clear(a.refusals)
		scrub := secretsOf(c).String
		p, err := a.config.open(r, c)
		if err == nil {
			a.protocol = p
		}
		return scrub, err
	})
}

// Covers implements repoagent.Remote.
func (a remote) Covers(_ context.Context, sources []record.Source) bool {
	return a.protocol != nil && a.protocol.knows(a.fresh(sources))
}

// fresh are the sources that were not evaluated yet, and those that somebody
// asks about.
func (a *Agent) fresh(sources []record.Source) (fresh []record.Source) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, q := range a.asked {
		fresh = append(fresh, q.source)
	}
	for _, s := range sources {
		if !a.seen[s.ID] {
			fresh = append(fresh, s)
		}
	}
	return fresh
}

// waited reports whether somebody waits for content that is gone.
func (a *Agent) waited() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.lost) > 0
}

// showLatest makes the revisions of the heads known to KickAndWait.
func (a *Agent) showLatest() {
	latest := map[string]bool{}
	for _, h := range a.Heads {
		latest[h.Revision] = h.Error == ""
	}
	a.mu.Lock()
	a.latest = latest
	a.mu.Unlock()
}

// Close implements repoagent.Remote.
func (a remote) Close() {
	a.mu.Lock()
	waiting := slices.Concat(slices.Collect(maps.Values(a.asked)), slices.Collect(maps.Values(a.lost)))
	a.mu.Unlock()
	a.taken.end(errStopped)
	for _, q := range waiting {
		q.end(record.Head{}, errStopped)
	}
	if a.protocol != nil {
		a.protocol.close()
	}
}

var errStopped = errcode.New(errcode.Unavailable, "this replica stopped following the repository; try again")
