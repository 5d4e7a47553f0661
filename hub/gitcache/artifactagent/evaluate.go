package artifactagent

import (
	"context"
	"io"

	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/gitcache/repoagent"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/tarball"
)

// Evaluate implements repoagent.Remote. It answers those who asked as well.
func (a remote) Evaluate(ctx context.Context, sources []record.Source, cause error) error {
	if !a.took {
		if cause == nil && len(a.fresh(sources)) == 0 && !a.waited() && !a.Retries.Waiting() {
			return nil // nothing is new since the last evaluation
		}
		a.take()
	}
	a.took = false
	a.answer(ctx, cause)
	if sources == nil && cause != nil {
		return nil
	}
	err := a.evaluate(ctx, sources, cause)
	a.Holds(a.keep.size())
	return err
}

// evaluate determines what each source points at and writes the heads that
// changed. A cause means that upstream could not be read: then only sources
// without content get the error, the others keep their content.
func (a *Agent) evaluate(ctx context.Context, sources []record.Source, cause error) error {
	if err := a.LoadHeads(ctx); err != nil {
		return err
	}
	w := a.HeadWriter(a.Write)
	made := map[string]built{}
	seen := map[string]bool{}
	for _, s := range sources {
		seen[s.ID] = true
		old := a.Heads[s.ID]
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
		if err := w.Add(ctx, *head, artifact); err != nil {
			return err
		}
	}
	if err := w.Flush(ctx); err != nil {
		return err
	}
	a.mu.Lock()
	a.seen = seen
	a.mu.Unlock()
	a.showLatest()
	return nil
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
	artifact, err := (*record.Artifact)(nil), repoagent.Unavailable(cause)
	if err == nil {
		artifact, err = a.produce(ctx, s, &head, made)
	}
	if err != nil {
		if !errcode.Is(err, errcode.Unprocessable) {
			a.Config.Log.Warn("source cannot be produced", logkey.Repository, s.RepositoryID, logkey.Source, s.ID, logkey.Error, err)
		}
		return a.Failed(s, old, err), nil
	}
	if artifact == nil && old.Error == "" && head.Message == old.Message {
		return nil, nil
	}
	a.Produced(&head)
	return &head, artifact
}

// produce fills in the head for what the source points at and ensures that the
// tarball is stored. It returns nil when the head already has the content.
func (a *Agent) produce(ctx context.Context, s record.Source, head *record.Head, made map[string]built) (*record.Artifact, error) {
	t, err := a.protocol.resolve(s)
	if err != nil {
		return nil, err
	}
	if t.Key == head.Key && head.Digest != "" {
		if t.Message != "" {
			head.Message = t.Message
		}
		return nil, nil
	}
	if err := a.refusals[t.place()]; err != nil {
		return nil, err
	}
	b, ok := made[t.Key]
	if !ok {
		if b, err = a.build(ctx, &t); err != nil {
			return nil, err
		}
		b.said = t
		made[t.Key] = b
	}
	if err := a.inside(ctx, t); err != nil {
		return nil, err
	}
	t.Message, t.Author, t.CreatedAt = b.said.Message, b.said.Author, b.said.CreatedAt
	head.Revision, head.Message, head.Author, head.CommittedAt = t.Revision, t.Message, t.Author, t.CreatedAt
	head.Digest, head.Size, head.Entry, head.Key = b.digest, b.size, t.Entry, t.Key
	return &record.Artifact{Digest: b.digest, Size: b.size, Files: b.stats.Files, Bytes: b.stats.Bytes,
		Recipe: record.Recipe{Kind: a.config.Kind, RepositoryID: s.RepositoryID, Commit: t.Commit, Tree: t.Key, Folder: t.Folder}}, nil
}

// inside checks that the folder of a source is in the kept content, which it
// shares with sources of other folders.
func (a *Agent) inside(ctx context.Context, t target) error {
	file, ok := a.keep.find(t.Key)
	if !ok || t.Entry == "" {
		return nil
	}
	has, err := a.keep.has(ctx, file, t.Entry)
	if err == nil && !has {
		err = errcode.New(errcode.Unprocessable, "%s has no folder %.200q; if the repository's URL is that of a chart itself, name no chart", t.url, t.Entry)
		a.refusals[t.place()] = err
	}
	return err
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
		a.Fetched()
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
	return file, repoagent.Refused(err)
}

// fetch gets a target's content through the gate of its host, unless that
// failed a short while ago.
func (a *Agent) fetch(ctx context.Context, t *target, dir string) error {
	if err := a.Retries.Blocked(t.Key); err != nil {
		return err
	}
	host := a.Host()
	if a.config.Kind == record.Helm {
		host = repoagent.HostOf(t.url)
	}
	leave, err := a.Config.Gates.Enter(ctx, repoagent.Turn{Host: host, Caller: a.Config.Sharing})
	if err == nil {
		err = a.protocol.fetch(ctx, t, dir)
		leave(err)
	}
	if ctx.Err() != nil {
		return err
	}
	if at := a.Retries.Done(t.Key, err); !at.IsZero() {
		a.LookAt(at)
	}
	return err
}
