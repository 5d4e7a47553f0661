package gitagent

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/mirror"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/internal/errcode"
)

// errPending means that content of another repository is being fetched; the
// source is evaluated again when it is here.
var errPending = errcode.New(errcode.Unavailable, "content of another repository is being fetched; try again in a moment")

const (
	// gatherWait is how long a pass waits for content of other repositories.
	gatherWait = 5 * time.Second
	// gatherTimeout limits the fetching of everything that one source needs.
	gatherTimeout = 20 * time.Minute
	// maxGathering limits how many sources fetch concurrently.
	maxGathering = 4
)

// gatherer fetches content of other repositories in parallel to the passes: a slow
// or silent server of a submodule must not delay the repository that uses it.
type gatherer struct {
	mu    sync.Mutex
	jobs  map[string]*job // by the content's key
	slots chan struct{}
	wg    sync.WaitGroup
}

type job struct {
	done chan struct{}
	got  gathered
	err  error
}

// gathered returns the content of other repositories that a content needs. In a
// pass it waits only briefly and then returns errPending.
func (e *evaluation) gathered(ctx context.Context, s record.Source, c mirror.Commit, content *mirror.Content, key string) (gathered, error) {
	if len(content.External) == 0 && len(content.Links) == 0 && !s.Options.LFS {
		return gathered{}, nil
	}
	if err := e.agent.Retries.Blocked(content.Key); err != nil {
		return gathered{}, err
	}
	if !e.wait {
		return e.agent.gatherNow(ctx, e.reader, s, c, content)
	}
	g := &e.agent.gatherer
	g.mu.Lock()
	j := g.jobs[key]
	if j == nil {
		j = &job{done: make(chan struct{})}
		g.jobs[key] = j
		g.wg.Go(func() { e.gatherBeside(j, s, c, content) })
	}
	g.mu.Unlock()
	select {
	case <-j.done:
		g.mu.Lock()
		delete(g.jobs, key) // the next call tries again
		g.mu.Unlock()
		return j.got, j.err
	case <-ctx.Done():
		return gathered{}, ctx.Err()
	case <-time.After(gatherWait):
		return gathered{}, errPending
	}
}

// gatherBeside runs a job, and has the sources evaluated when it ends late.
func (e *evaluation) gatherBeside(j *job, s record.Source, c mirror.Commit, content *mirror.Content) {
	defer close(j.done)
	a := e.agent
	ctx, cancel := context.WithTimeout(a.Life, gatherTimeout)
	defer cancel()
	select {
	case a.gatherer.slots <- struct{}{}:
		defer func() { <-a.gatherer.slots }()
	case <-ctx.Done():
		j.err = ctx.Err()
		return
	}
	began := time.Now()
	j.got, j.err = a.gatherNow(ctx, e.reader, s, c, content)
	if time.Since(began) >= gatherWait {
		a.SourcesChanged()
	}
}

// gatherNow gathers, unless that failed a short while ago.
func (a *Agent) gatherNow(ctx context.Context, reader *mirror.Reader, s record.Source, c mirror.Commit, content *mirror.Content) (got gathered, err error) {
	err = a.try(content.Key, func() error {
		got, err = a.gather(ctx, reader, s, c, content)
		return err
	})
	return got, err
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
