package artifactagent

import (
	"context"
	"io"

	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
)

// question is a request from outside that waits for the next pass.
type question struct {
	source record.Source
	recipe record.Recipe
	done   chan struct{}
	head   record.Head
	err    error
}

// end answers. It is called once, by the caller that took the question out of
// its map, or by close.
func (q *question) end(h record.Head, err error) {
	select {
	case <-q.done:
	default:
		q.head, q.err = h, err
		close(q.done)
	}
}

func (q *question) wait(ctx context.Context) (record.Head, error) {
	select {
	case <-q.done:
		return q.head, q.err
	case <-ctx.Done():
		return record.Head{}, errcode.Hide(errcode.Unavailable, ctx.Err(), "upstream was not read in time; the read continues, try again")
	}
}

// Resolve evaluates a source, whether or not it is followed, from the last read
// of upstream if possible, otherwise at the next pass. It fetches the content
// and records the recipe.
func (a *Agent) Resolve(ctx context.Context, s record.Source) (record.Head, error) {
	a.mu.Lock()
	q := a.asked[s.ID]
	if q == nil {
		q = &question{source: s, done: make(chan struct{})}
		a.asked[s.ID] = q
	}
	a.mu.Unlock()
	a.SourcesChanged()
	return q.wait(ctx)
}

// Rebuild writes the tarball of a recipe from the kept file. When that file is
// gone, perhaps with the disk, the next pass fetches it again.
func (a *Agent) Rebuild(ctx context.Context, r record.Recipe, w io.Writer) (digest.Digest, error) {
	if r.Kind != a.config.Kind || len(r.Parts) > 0 {
		return "", errcode.New(errcode.Unprocessable, "content of kind %q with %d parts cannot be rebuilt by this version", r.Kind, len(r.Parts))
	}
	if file, ok := a.keep.find(r.Tree); ok {
		return file.digest, a.keep.copy(w, file)
	}
	a.mu.Lock()
	q := a.lost[r.Tree]
	if q == nil {
		q = &question{recipe: r, done: make(chan struct{})}
		a.lost[r.Tree] = q
	}
	a.mu.Unlock()
	a.SourcesChanged()
	if _, err := q.wait(ctx); err != nil {
		return "", err
	}
	if file, ok := a.keep.find(r.Tree); ok {
		return file.digest, a.keep.copy(w, file)
	}
	return "", errcode.New(errcode.Unavailable, "the content was fetched and is gone again; try again")
}

// questions are what was asked until a pass began.
type questions struct{ asked, lost map[string]*question }

// end gives all the same answer.
func (q questions) end(err error) {
	for _, one := range q.asked {
		one.end(record.Head{}, err)
	}
	for _, one := range q.lost {
		one.end(record.Head{}, err)
	}
}

// take takes what was asked: what is asked while upstream is read is for the
// next pass.
func (a *Agent) take() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.taken, a.took = questions{a.asked, a.lost}, true
	a.asked, a.lost = map[string]*question{}, map[string]*question{}
}

// answer ends the questions that were taken. The cause is why upstream could
// not be read, if it could not.
func (a *Agent) answer(ctx context.Context, cause error) {
	taken := a.taken
	a.taken = questions{}
	if cause != nil {
		taken.end(cause)
		return
	}
	made := map[string]built{}
	for _, q := range taken.asked {
		head := record.Head{SourceID: q.source.ID, RepositoryID: q.source.RepositoryID}
		err := a.record(ctx, q.source, &head, made)
		q.end(head, err)
	}
	for _, q := range taken.lost {
		err := a.restore(ctx, q.recipe)
		if err != nil {
			a.Config.Log.Warn("a kept file is gone and cannot be fetched again", logkey.Repository, a.Config.RepositoryID, logkey.Error, err)
		}
		q.end(record.Head{}, err)
	}
}

// record makes the content of a source without following it and writes its
// recipe, which the store keeps for a day.
func (a *Agent) record(ctx context.Context, s record.Source, head *record.Head, made map[string]built) error {
	artifact, err := a.produce(ctx, s, head, made)
	if err != nil {
		return err
	}
	return a.Write(ctx, nil, []record.Artifact{*artifact})
}

func (a *Agent) restore(ctx context.Context, r record.Recipe) error {
	t, err := a.protocol.recall(r)
	if err != nil {
		return err
	}
	_, err = a.download(ctx, &t)
	return err
}

// Tidy implements repoagent.Remote: it drops kept files that no pin and no head
// needs.
func (a remote) Tidy(ctx context.Context, _ bool) {
	now := a.Config.Clock.Now()
	if now.Sub(a.lastSweep) < sweepEvery {
		return
	}
	a.lastSweep = now
	pins, err := a.Config.Rows.Pins(ctx, a.Config.RepositoryID)
	if err == nil {
		needed := map[string]bool{}
		for _, p := range pins {
			needed[p.Digest.Hex()] = true
		}
		for _, h := range a.Heads {
			needed[h.Digest.Hex()] = true
		}
		err = a.keep.drop(needed, now.Add(-keepAtLeast))
	}
	if err != nil && ctx.Err() == nil {
		a.Config.Log.Warn("kept files cannot be swept", logkey.Repository, a.Config.RepositoryID, logkey.Error, err)
	}
}
