package gitagent

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/gitcache/upstream"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/tarball"
)

// evaluate works out what each source points at and writes the heads that
// changed. A source whose commit is the one it was evaluated at is passed by.
func (a *Agent) evaluate(ctx context.Context, sources []record.Source) error {
	if err := a.loadHeads(ctx); err != nil {
		return err
	}
	w := &headWriter{agent: a, began: a.config.Clock.Now(), built: map[string]built{}}
	for _, s := range sources {
		if err := ctx.Err(); err != nil {
			return err
		}
		old := a.heads[s.ID]
		_, _, t := a.copy()
		commit, err := t.Resolve(s.Ref)
		if err == nil && old.SourceID != "" && a.evaluated[s.ID] == commit {
			continue
		}
		head, artifact, err := a.head(ctx, s, old, commit, err, w.built)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil && commit != "" {
			a.evaluated[s.ID] = commit
		} else {
			delete(a.evaluated, s.ID)
		}
		if head == nil {
			continue
		}
		if err := w.add(ctx, *head, artifact); err != nil {
			return err
		}
	}
	for id := range a.evaluated {
		if !slices.ContainsFunc(sources, func(s record.Source) bool { return s.ID == id }) {
			delete(a.evaluated, id)
		}
	}
	return w.flush(ctx)
}

// built is a tarball that this evaluation made, or found made, for a key.
type built struct {
	digest digest.Digest
	size   int64
	stats  tarball.Stats
}

// head returns the row that a source should have, nil when it has it. The
// error asks to look again at the next pass.
func (a *Agent) head(ctx context.Context, s record.Source, old record.Head, commit string, unresolved error, made map[string]built) (*record.Head, *record.Artifact, error) {
	head, artifact, err := old, (*record.Artifact)(nil), unresolved
	head.SourceID, head.RepositoryID = s.ID, s.RepositoryID
	if err == nil {
		artifact, err = a.produce(ctx, s, commit, &head, made)
	}
	if err != nil {
		again := err
		if errcode.Is(err, errcode.Unprocessable) {
			again = nil // the same commit gives the same answer
		} else {
			a.config.Log.Warn("source cannot be produced", logkey.Repository, s.RepositoryID, logkey.Source, s.ID, logkey.Error, err)
		}
		text := sourceError(err)
		if sameError(text, old.Error) && old.SourceID != "" {
			return nil, nil, again
		}
		head = old
		head.SourceID, head.RepositoryID = s.ID, s.RepositoryID
		head.Error, head.ErrorCode = text, errcode.Of(err)
		if head.ErrorSince.IsZero() {
			head.ErrorSince = a.config.Clock.Now()
		}
		head.FetchSeq = a.fetchSeq
		return &head, nil, again
	}
	if artifact == nil && old.Error == "" {
		return nil, nil, nil
	}
	head.Error, head.ErrorCode, head.ErrorSince = "", "", time.Time{}
	head.Epoch, head.FetchSeq, head.FetchedAt = a.config.Epoch, a.fetchSeq, a.fetchedAt
	return &head, artifact, nil
}

// sameError compares what is wrong, which stands before the first semicolon,
// and not the hints behind it: a new folder elsewhere is no news for a source
// that looks for another.
func sameError(a, b string) bool {
	a, _, _ = strings.Cut(a, ";")
	b, _, _ = strings.Cut(b, ";")
	return a == b
}

// sourceError is the text that a service shows. What has no code is a fault of
// the hub or of its machine, and is told too: someone waits for this source.
func sourceError(err error) string {
	var coded *errcode.Error
	if errors.As(err, &coded) {
		return errcode.Message(err)
	}
	return "the hub cannot read the source: " + err.Error()
}

// produce fills the head for the content at a commit and makes sure that its
// tarball is there. It returns nil when the content is the head's already.
func (a *Agent) produce(ctx context.Context, s record.Source, commit string, head *record.Head, made map[string]built) (*record.Artifact, error) {
	m, reader, _ := a.copy()
	c, err := m.Commit(ctx, commit)
	if err != nil {
		return nil, err
	}
	content, err := reader.Find(ctx, c, s.Folder, s.Files)
	if err != nil {
		return nil, err
	}
	if content.Key == head.Key && head.Digest != "" {
		return nil, nil
	}
	b, ok := made[content.Key]
	if !ok {
		if b, err = a.build(ctx, reader, content); err != nil {
			return nil, err
		}
		made[content.Key] = b
	}
	head.Revision, head.Message, head.Author, head.CommittedAt = c.ID, c.Message, c.Author, c.Time
	head.Digest, head.Size, head.Entry, head.Key = b.digest, b.size, content.Entry, content.Key
	return &record.Artifact{Digest: b.digest, Size: b.size, Files: b.stats.Files, Bytes: b.stats.Bytes,
		Recipe: record.Recipe{Kind: record.Git, RepositoryID: s.RepositoryID, Commit: c.ID, Tree: c.Tree, Folder: s.Folder, Files: s.Files}}, nil
}

func (a *Agent) build(ctx context.Context, reader *upstream.Reader, content *upstream.Content) (b built, err error) {
	b.digest, b.size, err = a.config.Sink.Put(ctx, func(ctx context.Context, w io.Writer) (d digest.Digest, err error) {
		d, b.stats, err = tarball.Write(w, reader.Entries(ctx, content), tarball.Options{Level: a.config.Level, Limits: a.config.Limits})
		return d, refused(err)
	})
	return b, err
}

// refused gives a code to what the user's content is refused for.
func refused(err error) error {
	var path *digest.PathError
	var limit *tarball.LimitError
	if errors.As(err, &path) || errors.As(err, &limit) {
		return errcode.New(errcode.Unprocessable, "%w", err)
	}
	return err
}

// headWriter writes heads in batches, commits kept first.
type headWriter struct {
	agent     *Agent
	began     time.Time // of the oldest head that waits
	heads     []record.Head
	artifacts []record.Artifact
	built     map[string]built
}

func (w *headWriter) add(ctx context.Context, h record.Head, a *record.Artifact) error {
	if len(w.heads) == 0 {
		w.began = w.agent.config.Clock.Now()
	}
	w.heads = append(w.heads, h)
	if a != nil {
		w.artifacts = append(w.artifacts, *a)
	}
	if len(w.heads) >= headBatch || w.agent.config.Clock.Now().Sub(w.began) >= headWait {
		return w.flush(ctx)
	}
	return nil
}

func (w *headWriter) flush(ctx context.Context) error {
	if len(w.heads) == 0 {
		return nil
	}
	a := w.agent
	var commits []string
	for _, x := range w.artifacts {
		commits = append(commits, x.Recipe.Commit)
	}
	slices.Sort(commits)
	m, _, _ := a.copy()
	// A commit that a head names can no longer be lost to a force-push.
	if len(commits) > 0 {
		if err := m.Keep(ctx, slices.Compact(commits)); err != nil {
			return err
		}
	}
	if err := a.config.Store.WriteHeads(ctx, a.config.RepositoryID, a.config.Epoch, w.heads, w.artifacts); err != nil {
		for _, h := range w.heads {
			delete(a.evaluated, h.SourceID) // look again
		}
		return err
	}
	for _, h := range w.heads {
		h.Epoch = a.config.Epoch
		a.heads[h.SourceID] = h
	}
	w.heads, w.artifacts = nil, nil
	return nil
}

// sourcesChanged evaluates new sources without asking upstream, when the last
// listing covered their refs; else it asks for a pass.
func (a *Agent) sourcesChanged(ctx context.Context) {
	a.mu.Lock()
	good := a.last == nil
	a.mu.Unlock()
	sources, err := a.config.Store.Sources(ctx, a.config.RepositoryID)
	if r, missing := a.config.Store.Repository(ctx, a.config.RepositoryID); missing == nil {
		good = good && r.Generation == a.generation
	}
	if err != nil {
		a.config.Log.Warn("sources cannot be read", logkey.Repository, a.config.RepositoryID, logkey.Error, err)
		return // the next poll sees them
	}
	for _, p := range inUse(sources) {
		good = good && (a.listed == nil || slices.Contains(a.listed, p))
	}
	for _, s := range sources {
		good = good && !upstream.IsID(s.Ref)
	}
	if !good {
		a.request(func(p *pending) { p.again = true })
		return
	}
	if err := a.evaluate(ctx, sources); err != nil && ctx.Err() == nil {
		a.config.Log.Warn("sources cannot be evaluated", logkey.Repository, a.config.RepositoryID, logkey.Error, err)
	}
}

// evaluateFromMirror gives sources that have no content yet what the mirror
// has, while upstream cannot be read. Sources with content keep it: what the
// mirror shows may be older than what another owner saw.
func (a *Agent) evaluateFromMirror(ctx context.Context, sources []record.Source, cause error) error {
	if err := a.loadHeads(ctx); err != nil {
		return err
	}
	w := &headWriter{agent: a, built: map[string]built{}}
	for _, s := range sources {
		old := a.heads[s.ID]
		if old.Digest != "" {
			continue
		}
		commit, err := "", cause
		if _, _, t := a.copy(); t != nil {
			if c, unknown := t.Resolve(s.Ref); unknown == nil {
				commit, err = c, nil
			}
		}
		if err != nil && errcode.Of(err) == errcode.Unprocessable {
			err = errcode.New(errcode.Unavailable, "%s", errcode.Message(err))
		}
		head, artifact, _ := a.head(ctx, s, old, commit, err, w.built)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if head == nil {
			continue
		}
		if err := w.add(ctx, *head, artifact); err != nil {
			return err
		}
	}
	return w.flush(ctx)
}
