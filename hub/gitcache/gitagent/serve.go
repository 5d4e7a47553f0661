package gitagent

import (
	"cmp"
	"context"
	"io"
	"sync"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
)

// Rebuild writes the tarball of a recipe from the mirror, with its parts. A
// mirror that turns out to be damaged is checked soon.
func (a *Agent) Rebuild(ctx context.Context, r record.Recipe, w io.Writer) (d digest.Digest, err error) {
	defer func() {
		if m, _, _ := a.copy(); err != nil && m != nil && m.Suspect() != nil {
			a.SourcesChanged()
		}
	}()
	m, reader := a.copyOf(r.Commit)
	if m == nil {
		return "", errcode.New(errcode.Unavailable, "the repository is not copied yet")
	}
	if r.Kind != record.Git {
		return "", errcode.New(errcode.Unprocessable, "content of kind %q cannot be made by a Git repository", r.Kind)
	}
	c, err := m.Commit(ctx, r.Commit)
	if errcode.Is(err, errcode.Unprocessable) && a.whole.Load() != m {
		// The recipe is pinned, so its commit must be here.
		m.Doubt(err)
		err = errcode.Hide(errcode.Unavailable, err, "commit %.12s cannot be read from this replica's copy of the repository, which is now being checked", r.Commit)
	}
	if err != nil {
		return "", err
	}
	ask, err := a.ask(ctx, r.Folder, r.Files, r.Options)
	if err != nil {
		return "", err
	}
	content, err := reader.Find(ctx, c, ask)
	if err != nil {
		return "", err
	}
	if r.Options.LFS {
		// A new disk may have the mirror from another replica, but not these files.
		if err := a.try(content.Key, func() error { return a.fetchLFS(ctx, reader, content) }); err != nil {
			return "", err
		}
	}
	d, _, err = a.pack(ctx, reader, content, r, w)
	return d, err
}

// Resolve evaluates a source at the refs as last read, without following it.
// Its content can be served for a day: the commit is kept, and the recipe is
// written when it is new.
func (a *Agent) Resolve(ctx context.Context, s record.Source) (record.Head, error) {
	m, _, t := a.copy()
	if m == nil {
		return record.Head{}, cmp.Or(a.Last(), error(errUnread))
	}
	commit, err := a.resolve(ctx, m, t, s.Ref)
	if err != nil {
		return record.Head{}, err
	}
	head := record.Head{SourceID: s.ID, RepositoryID: s.RepositoryID}
	e := a.newEvaluation()
	e.wait = false
	artifact, _, err := e.produce(ctx, s, commit, &head)
	if err != nil || a.resolved.has(artifact.Digest) {
		return head, err
	}
	if err := a.write(ctx, nil, []record.Artifact{*artifact}); err != nil {
		return head, err
	}
	a.resolved.add(artifact.Digest)
	return head, nil
}

// resolved remembers the recipes that Resolve wrote recently.
type resolved struct {
	mu sync.Mutex
	at map[digest.Digest]time.Time
}

// resolvedFor is how long a recipe is not written again; it lives a day.
const resolvedFor = time.Hour

func (r *resolved) has(d digest.Digest) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Since(r.at[d]) < resolvedFor
}

func (r *resolved) add(d digest.Digest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at == nil || len(r.at) > 1000 {
		r.at = map[digest.Digest]time.Time{}
	}
	r.at[d] = time.Now()
}
