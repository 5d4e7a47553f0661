package gitagent

import (
	"context"
	"io"

	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/tarball"
)

// Rebuild writes the tarball of a recipe out of the mirror.
func (a *Agent) Rebuild(ctx context.Context, r record.Recipe, w io.Writer) (digest.Digest, error) {
	m, reader, _ := a.copy()
	if m == nil {
		return "", errcode.New(errcode.Unavailable, "the repository is not copied yet")
	}
	if r.Kind != record.Git || len(r.Parts) > 0 {
		return "", errcode.New(errcode.Unprocessable, "content of kind %q with %d parts cannot be made by this version", r.Kind, len(r.Parts))
	}
	c, err := m.Commit(ctx, r.Commit)
	if err != nil {
		return "", err
	}
	content, err := reader.Find(ctx, c, r.Folder, r.Files)
	if err != nil {
		return "", err
	}
	d, _, err := tarball.Write(w, reader.Entries(ctx, content), tarball.Options{Level: a.config.Level, Limits: a.config.Limits})
	return d, refused(err)
}

// Resolve evaluates a source at the refs as last read, without following it.
func (a *Agent) Resolve(ctx context.Context, s record.Source) (record.Head, error) {
	m, _, t := a.copy()
	a.mu.Lock()
	last := a.last
	a.mu.Unlock()
	if m == nil {
		return record.Head{}, last
	}
	commit, err := t.Resolve(s.Ref)
	if err != nil {
		return record.Head{}, err
	}
	head := record.Head{SourceID: s.ID, RepositoryID: s.RepositoryID}
	_, err = a.produce(ctx, s, commit, &head, map[string]built{})
	return head, err
}
