package artifactagent

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/pace"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/tarball"
)

// evaluate determines what each source points at and writes the heads that
// changed. A cause means that upstream could not be read: then only sources
// without content get the error, the others keep their content.
func (a *Agent) evaluate(ctx context.Context, sources []record.Source, cause error) error {
	if err := a.loadHeads(ctx); err != nil {
		return err
	}
	w := &writer{agent: a}
	made := map[string]built{}
	seen := map[string]bool{}
	for _, s := range sources {
		seen[s.ID] = true
		old := a.heads[s.ID]
		if cause != nil && old.Digest != "" {
			continue
		}
		head, artifact := a.head(ctx, s, old, cause, made)
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
	if err := w.flush(ctx); err != nil {
		return err
	}
	a.mu.Lock()
	a.seen = seen
	a.mu.Unlock()
	return a.loadHeads(ctx)
}

// built is content that this evaluation fetched.
type built struct {
	digest digest.Digest
	size   int64
	stats  tarball.Stats
	said   target // with what the fetch added
}

// head returns the row that a source should have, nil when the stored one is
// right.
func (a *Agent) head(ctx context.Context, s record.Source, old record.Head, cause error, made map[string]built) (*record.Head, *record.Artifact) {
	head := old
	head.SourceID, head.RepositoryID = s.ID, s.RepositoryID
	artifact, err := (*record.Artifact)(nil), unavailable(cause)
	if err == nil {
		artifact, err = a.produce(ctx, s, &head, made)
	}
	if err != nil {
		return a.failed(s, old, err), nil
	}
	if artifact == nil && old.Error == "" && head.Message == old.Message {
		return nil, nil
	}
	head.Error, head.ErrorCode, head.ErrorSince = "", "", time.Time{}
	head.Epoch, head.FetchSeq, head.FetchedAt = a.config.Epoch, a.fetchSeq, a.fetchedAt
	return &head, artifact
}

// failed returns the row of a source that cannot be used: its old content, and
// why there is nothing newer.
func (a *Agent) failed(s record.Source, old record.Head, err error) *record.Head {
	if !errcode.Is(err, errcode.Unprocessable) {
		a.config.Log.Warn("source cannot be produced", logkey.Repository, s.RepositoryID, logkey.Source, s.ID, logkey.Error, err)
	}
	err = a.told(err)
	text := errcode.Message(err)
	if sameError(text, old.Error) && old.SourceID != "" {
		return nil
	}
	head := old
	head.SourceID, head.RepositoryID = s.ID, s.RepositoryID
	head.Error, head.ErrorCode, head.FetchSeq = text, errcode.Of(err), a.fetchSeq
	if head.ErrorSince.IsZero() {
		head.ErrorSince = a.config.Clock.Now()
	}
	return &head
}

// unavailable returns the error of a source without content while upstream
// cannot be read. It is never Unprocessable, because the source itself may be
// valid.
func unavailable(cause error) error {
	if errcode.Is(cause, errcode.Unprocessable) {
		return errcode.New(errcode.Unavailable, "%s", errcode.Message(cause))
	}
	return cause
}

// sameError compares the parts of two errors before the first semicolon, and
// ignores the hints after it.
func sameError(a, b string) bool {
	a, _, _ = strings.Cut(a, ";")
	b, _, _ = strings.Cut(b, ";")
	return a == b
}

// produce fills in the head for what the source points at and ensures that the
// tarball is stored. It returns nil when the head already has the content.
func (a *Agent) produce(ctx context.Context, s record.Source, head *record.Head, made map[string]built) (*record.Artifact, error) {
	t, err := a.remote.resolve(s)
	if err != nil {
		return nil, err
	}
	if t.Key == head.Key && head.Digest != "" {
		if t.Message != "" {
			head.Message = t.Message
		}
		return nil, nil
	}
	b, ok := made[t.Key]
	if !ok {
		if b, err = a.build(ctx, &t); err != nil {
			return nil, err
		}
		b.said = t
		made[t.Key] = b
	}
	t.Message, t.Author, t.CreatedAt = b.said.Message, b.said.Author, b.said.CreatedAt
	head.Revision, head.Message, head.Author, head.CommittedAt = t.Revision, t.Message, t.Author, t.CreatedAt
	head.Digest, head.Size, head.Entry, head.Key = b.digest, b.size, t.Entry, t.Key
	return &record.Artifact{Digest: b.digest, Size: b.size, Files: b.stats.Files, Bytes: b.stats.Bytes,
		Recipe: record.Recipe{Kind: a.config.Kind, RepositoryID: s.RepositoryID, Commit: t.Commit, Tree: t.Key, Folder: t.Folder}}, nil
}

// build fetches a target, keeps its tarball and puts it into the sink. Content
// that was refused is not fetched again while it is unchanged.
func (a *Agent) build(ctx context.Context, t *target) (b built, err error) {
	if err := a.refusals[t.Key]; err != nil {
		return b, err
	}
	defer func() {
		if errcode.Is(err, errcode.Unprocessable) {
			a.refusals[t.Key] = err
		}
	}()
	file, ok := a.keep.find(t.Key)
	if !ok {
		if file, err = a.download(ctx, t); err != nil {
			return b, err
		}
		a.fetched = true
	}
	b.digest, b.stats = file.digest, file.stats
	_, b.size, err = a.config.Sink.Put(ctx, func(_ context.Context, w io.Writer) (digest.Digest, error) { return b.digest, a.keep.copy(w, file) })
	return b, err
}

// download fetches a target into a kept file.
func (a *Agent) download(ctx context.Context, t *target) (kept, error) {
	if n := a.keep.size(); n > a.config.MaxKept {
		return kept{}, errcode.New(errcode.Exhausted, "the repository already has %d bytes on the hub's disk, more than its limit of %d; delete services that use old versions or raise the limit", n, a.config.MaxKept)
	}
	dir, end, err := a.keep.folder()
	if err != nil {
		return kept{}, err
	}
	defer end()
	if err := a.fetch(ctx, t, dir); err != nil {
		return kept{}, err
	}
	file, err := a.keep.put(ctx, t.Key, dir, tarball.Options{Level: a.config.Level, Limits: a.config.Limits})
	return file, refused(err)
}

// fetch gets a target's content through the gate of its host, unless that
// failed a short while ago.
func (a *Agent) fetch(ctx context.Context, t *target, dir string) error {
	if err := a.retries.Blocked(t.Key); err != nil {
		return err
	}
	host := a.host
	if a.config.Kind == record.Helm {
		host = pace.HostOf(t.url)
	}
	leave, err := a.config.Gates.Enter(ctx, pace.Turn{Host: host})
	if err == nil {
		err = a.remote.fetch(ctx, t, dir)
		leave(err)
	}
	if ctx.Err() != nil {
		return err
	}
	if at := a.retries.Done(t.Key, err); !at.IsZero() {
		a.pacer.LookAt(at)
	}
	return err
}

// refused adds a code to the error of content that is not accepted.
func refused(err error) error {
	var path *digest.PathError
	var limit *tarball.LimitError
	if errors.As(err, &path) || errors.As(err, &limit) {
		return errcode.New(errcode.Unprocessable, "%w", err)
	}
	return err
}

// writer writes heads in batches.
type writer struct {
	agent     *Agent
	heads     []record.Head
	artifacts []record.Artifact
}

func (w *writer) add(ctx context.Context, h record.Head, a *record.Artifact) error {
	w.heads = append(w.heads, h)
	if a != nil {
		w.artifacts = append(w.artifacts, *a)
	}
	if len(w.heads) >= headBatch {
		return w.flush(ctx)
	}
	return nil
}

func (w *writer) flush(ctx context.Context) error {
	if len(w.heads) == 0 {
		return nil
	}
	a := w.agent
	if err := a.config.Store.WriteHeads(ctx, a.config.RepositoryID, a.config.Epoch, w.heads, w.artifacts); err != nil {
		return err
	}
	w.heads, w.artifacts = nil, nil
	return nil
}
