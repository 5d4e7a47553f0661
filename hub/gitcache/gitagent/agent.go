package gitagent

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/mirror"
	"github.com/axle-cd/axle/hub/gitcache/mirror/repack"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/gitcache/repoagent"
	"github.com/axle-cd/axle/hub/gitcache/upstream/git"
	"github.com/axle-cd/axle/internal/gitobject"
	"github.com/axle-cd/axle/internal/logkey"
)

// Agent is the agent of a repository whose upstream is Git.
type Agent struct {
	*repoagent.Agent
	config Config

	mu      sync.Mutex
	mirror  *mirror.Mirror
	reader  *mirror.Reader
	table   *mirror.Table
	trusted *trusted
	// former is the mirror from before upstream changed its object format.
	former       *mirror.Mirror
	formerReader *mirror.Reader

	gatherer gatherer
	resolved resolved

	// The following fields belong to the goroutine of Run.
	server     *git.Server
	listed     []string // prefixes of the last good listing; nil is all
	lastAll    time.Time
	lastRepack time.Time
	repack     repack.Repacker
	evaluated  map[string]look               // by source, when it was last worked out
	idTried    map[string]time.Time          // commits that upstream did not have
	maxBytes   int64                         // of the mirror, from the repository's options
	anew       bool                          // the mirror is damaged and is rebuilt
	aside      string                        // path of the damaged one
	verified   time.Time                     // when a suspected mirror was found intact
	whole      atomic.Pointer[mirror.Mirror] // that mirror
}

// New returns an agent. It does nothing before Run.
func New(c Config) *Agent {
	c.defaults()
	a := &Agent{config: c, gatherer: gatherer{jobs: map[string]*job{}, slots: make(chan struct{}, maxGathering)},
		evaluated: map[string]look{}, idTried: map[string]time.Time{}}
	c.Agent.Bulk = func() bool { m, _, _ := a.copy(); return m == nil || a.anew }
	a.Agent = repoagent.New(c.Agent, remote{a})
	return a
}

// remote is the agent as its repoagent.Remote.
type remote struct{ *Agent }

// KickAndWait requests a pass and returns the error of one that began after the
// call. It returns at once when the mirror has the given commit.
func (a *Agent) KickAndWait(ctx context.Context, commit string) error {
	if gitobject.IsID(commit) && a.has(ctx, commit) {
		return nil
	}
	return a.Agent.KickAndWait(ctx)
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
func (a *Agent) copy() (*mirror.Mirror, *mirror.Reader, *mirror.Table) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.mirror, a.reader, a.table
}

// Open implements repoagent.Remote: while upstream is away the mirror of an
// earlier life serves.
func (a remote) Open(ctx context.Context, r record.Repository) (resume bool, err error) {
	resume = r.Health.State == record.Failed && a.trust(r.Options.Verify) == nil
	if err := a.openMirror(ctx, mirror.FormatOf(a.config.Dir)); err != nil {
		a.Config.Log.Warn("mirror cannot be opened", logkey.Repository, a.Config.RepositoryID, logkey.Error, err)
	}
	seed(ctx, a.Agent)
	return resume, nil
}

// Close implements repoagent.Remote.
func (a remote) Close() {
	a.repack.Close()
	a.gatherer.wg.Wait()
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

// stopped reports whether an error only means that the work was interrupted.
func stopped(err error) bool { return errors.Is(err, context.Canceled) }
