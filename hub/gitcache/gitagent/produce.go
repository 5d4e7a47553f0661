package gitagent

import (
	"context"
	"io"
	"sync"

	"github.com/axle-cd/axle/hub/gitcache/mirror"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/gitcache/repoagent"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/tarball"
	"github.com/axle-cd/axle/internal/vendored"
)

// build is a tarball that this evaluation makes for a key. Sources with equal
// content share it.
type build struct {
	once     sync.Once
	artifact record.Artifact
	err      error
}

// produce fills in the head for the content at a commit and ensures that its
// tarball is stored. The artifact is nil when the head already has the content.
func (e *evaluation) produce(ctx context.Context, s record.Source, commit string, head *record.Head) (*record.Artifact, look, error) {
	at := look{commit: commit}
	c, err := e.commit(ctx, commit)
	if err != nil {
		return nil, at, err
	}
	ask, err := e.agent.ask(ctx, s.Folder, s.Files, s.Options)
	if err != nil {
		return nil, at, err
	}
	content, err := e.reader.Find(ctx, c, ask)
	if err != nil {
		return nil, at, err
	}
	at.tree, at.probes = c.Tree, content.Probes()
	if s.Options.Bare {
		content.External, content.LeftOut = nil, nil
	}
	key := content.Key
	if len(content.External) > 0 {
		key = "v1:" + key
	}
	if key == head.Key && head.Digest != "" {
		return nil, at, nil
	}
	e.mu.Lock()
	b := e.builds[key]
	if b == nil {
		b = &build{}
		e.builds[key] = b
	}
	e.mu.Unlock()
	b.once.Do(func() { b.artifact, b.err = e.build(ctx, s, c, content, key) })
	if b.err != nil {
		return nil, at, b.err
	}
	head.Revision, head.Message, head.Author, head.CommittedAt = c.ID, c.Message, c.Author, c.Time
	head.Digest, head.Size, head.Entry, head.Key = b.artifact.Digest, b.artifact.Size, content.Entry, key
	artifact := b.artifact
	return &artifact, at, nil
}

// ask converts a source's options for the reader.
func (a *Agent) ask(ctx context.Context, folder string, files []string, o record.SourceOptions) (mirror.Ask, error) {
	ask := mirror.Ask{Folder: folder, Files: files, Submodules: o.Submodules, LFS: o.LFS}
	if o.Submodules {
		r, err := a.Config.Rows.Repository(ctx, a.Config.RepositoryID)
		if err != nil {
			return ask, err
		}
		ask.URL = r.URL
	}
	return ask, nil
}

// build gathers content of other repositories and makes the tarball.
func (e *evaluation) build(ctx context.Context, s record.Source, c mirror.Commit, content *mirror.Content, key string) (record.Artifact, error) {
	g, err := e.gathered(ctx, s, c, content, key)
	if err != nil {
		return record.Artifact{}, err
	}
	a := e.agent
	if g.vendored, err = e.leftOut(ctx, c, content, g.vendored); err != nil {
		return record.Artifact{}, err
	}
	out := record.Artifact{Recipe: record.Recipe{Kind: record.Git, RepositoryID: s.RepositoryID, Commit: c.ID, Tree: c.Tree,
		Folder: s.Folder, Files: s.Files, Options: s.Options, Parts: g.parts, Vendored: g.vendored}}
	var stats tarball.Stats
	out.Digest, out.Size, err = a.config.Sink.Put(ctx, func(ctx context.Context, w io.Writer) (d digest.Digest, err error) {
		d, stats, err = a.pack(ctx, e.reader, content, out.Recipe, w)
		return d, err
	})
	out.Files, out.Bytes = stats.Files, stats.Bytes
	return out, err
}

// leftOut adds to the map what is left out of a content. A repository with a map of its own
// keeps that.
func (e *evaluation) leftOut(ctx context.Context, c mirror.Commit, content *mirror.Content, m *vendored.Contents) (*vendored.Contents, error) {
	if len(content.LeftOut) == 0 {
		return m, nil
	}
	if m == nil {
		own, err := e.reader.Exists(ctx, c, content, vendored.Map)
		if own || err != nil {
			return nil, err
		}
		m = &vendored.Contents{}
	}
	m.LeftOut = content.LeftOut
	return m, nil
}

// pack writes the tarball of a recipe whose own content was found.
func (a *Agent) pack(ctx context.Context, reader *mirror.Reader, content *mirror.Content, r record.Recipe, w io.Writer) (digest.Digest, tarball.Stats, error) {
	entries := reader.Entries(ctx, content)
	if len(r.Parts) > 0 || r.Vendored != nil {
		entries = a.assembled(ctx, entries, r)
	}
	d, stats, err := tarball.Write(w, entries, tarball.Options{Level: a.config.Level, Limits: a.config.Limits})
	return d, stats, repoagent.Refused(err)
}
