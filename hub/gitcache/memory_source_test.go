package gitcache_test

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
)

// PutSource implements gitcache.Store.
func (m *Memory) PutSource(ctx context.Context, s gitcache.Source) error {
	now, err := m.enter(ctx, "PutSource")
	if err != nil {
		return err
	}
	defer m.mu.Unlock()
	if _, err := m.repo(s.RepositoryID); err != nil {
		return err
	}
	if old := m.sources[s.ID]; old != nil {
		old.put = now
		return nil
	}
	m.sources[s.ID] = &source{row: s, put: now}
	m.announce("source", s.ID)
	return nil
}

// DropSources implements gitcache.Store.
func (m *Memory) DropSources(ctx context.Context, putBefore time.Time) (int, error) {
	if _, err := m.enter(ctx, "DropSources"); err != nil {
		return 0, err
	}
	defer m.mu.Unlock()
	n := 0
	for id, s := range m.sources {
		if s.users == 0 && s.put.Before(putBefore) {
			delete(m.sources, id)
			delete(m.heads, id)
			n++
		}
	}
	return n, nil
}

// Source implements gitcache.Store.
func (m *Memory) Source(ctx context.Context, id string) (gitcache.Source, error) {
	if _, err := m.enter(ctx, "Source"); err != nil {
		return gitcache.Source{}, err
	}
	defer m.mu.Unlock()
	if s := m.sources[id]; s != nil {
		return s.row, nil
	}
	return gitcache.Source{}, errcode.New(errcode.NotFound, "source %s does not exist", id)
}

// Sources implements gitcache.Store.
func (m *Memory) Sources(ctx context.Context, repositoryID string) ([]gitcache.Source, error) {
	if _, err := m.enter(ctx, "Sources"); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	var out []gitcache.Source
	for _, s := range m.sources {
		if s.row.RepositoryID == repositoryID {
			out = append(out, s.row)
		}
	}
	slices.SortFunc(out, func(a, b gitcache.Source) int { return strings.Compare(a.ID, b.ID) })
	return out, nil
}

// Head implements gitcache.Store.
func (m *Memory) Head(ctx context.Context, sourceID string) (gitcache.Head, error) {
	if _, err := m.enter(ctx, "Head"); err != nil {
		return gitcache.Head{}, err
	}
	defer m.mu.Unlock()
	if h, ok := m.heads[sourceID]; ok {
		return h, nil
	}
	return gitcache.Head{}, errcode.New(errcode.NotFound, "source %s has no head yet", sourceID)
}

// HeadsOf implements gitcache.Store.
func (m *Memory) HeadsOf(ctx context.Context, sourceIDs []string) ([]gitcache.Head, error) {
	if _, err := m.enter(ctx, "HeadsOf"); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	var out []gitcache.Head
	for _, h := range m.heads {
		if slices.Contains(sourceIDs, h.SourceID) {
			out = append(out, h)
		}
	}
	return out, nil
}

// Heads implements gitcache.Store.
func (m *Memory) Heads(ctx context.Context, repositoryID string) ([]gitcache.Head, error) {
	if _, err := m.enter(ctx, "Heads"); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	var out []gitcache.Head
	for _, h := range m.heads {
		if h.RepositoryID == repositoryID {
			out = append(out, h)
		}
	}
	slices.SortFunc(out, func(a, b gitcache.Head) int { return strings.Compare(a.SourceID, b.SourceID) })
	return out, nil
}

// WriteHeads implements gitcache.Store.
func (m *Memory) WriteHeads(ctx context.Context, repositoryID string, epoch int64, heads []gitcache.Head, artifacts []gitcache.Artifact) error {
	now, err := m.enter(ctx, "WriteHeads")
	if err != nil {
		return err
	}
	defer m.mu.Unlock()
	r, err := m.repo(repositoryID)
	if err != nil {
		return err
	}
	if r.epoch > epoch {
		return stale(repositoryID, epoch)
	}
	for _, h := range heads {
		if old, ok := m.heads[h.SourceID]; ok && old.Epoch > epoch {
			return stale(repositoryID, epoch)
		}
	}
	for _, h := range heads {
		if s := m.sources[h.SourceID]; s == nil || s.row.RepositoryID != repositoryID {
			continue
		}
		h.RepositoryID, h.Epoch, h.UpdatedAt = repositoryID, epoch, now
		m.heads[h.SourceID] = h
		m.announce("head", h.SourceID)
	}
	for _, a := range artifacts {
		if old, ok := m.arts[a.Digest]; ok {
			a.CreatedAt = old.CreatedAt
		} else {
			a.CreatedAt = now
		}
		m.arts[a.Digest] = a
	}
	return nil
}

func stale(repositoryID string, epoch int64) error {
	return errcode.New(errcode.Conflict, "repository %s has a newer owner than epoch %d", repositoryID, epoch)
}

// WriteHealth implements gitcache.Store.
func (m *Memory) WriteHealth(ctx context.Context, repositoryID string, epoch int64, h gitcache.Health) error {
	if _, err := m.enter(ctx, "WriteHealth"); err != nil {
		return err
	}
	defer m.mu.Unlock()
	r, err := m.repo(repositoryID)
	if err != nil {
		return err
	}
	if r.epoch > epoch {
		return stale(repositoryID, epoch)
	}
	if h.State != r.row.Health.State || h.Message != r.row.Health.Message {
		m.announce("health", repositoryID)
	}
	r.row.Health = h
	return nil
}

// Artifact implements gitcache.Store.
func (m *Memory) Artifact(ctx context.Context, d digest.Digest) (gitcache.Artifact, error) {
	if _, err := m.enter(ctx, "Artifact"); err != nil {
		return gitcache.Artifact{}, err
	}
	defer m.mu.Unlock()
	if a, ok := m.arts[d]; ok {
		return a, nil
	}
	return gitcache.Artifact{}, errcode.New(errcode.NotFound, "no content with digest %s is known", d)
}

// Pins implements gitcache.Store.
func (m *Memory) Pins(ctx context.Context, repositoryID string) ([]gitcache.Pin, error) {
	if _, err := m.enter(ctx, "Pins"); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	var out []gitcache.Pin
	for d := range m.pins {
		if a, ok := m.arts[d]; ok {
			out = append(out, a.Recipe.Pins(d, repositoryID)...)
		}
	}
	slices.SortFunc(out, func(a, b gitcache.Pin) int { return strings.Compare(string(a.Digest), string(b.Digest)) })
	return out, nil
}

// Pinned implements gitcache.Store.
func (m *Memory) Pinned(ctx context.Context, of []digest.Digest) ([]digest.Digest, error) {
	if _, err := m.enter(ctx, "Pinned"); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	var out []digest.Digest
	for _, d := range of {
		if m.pins[d] {
			out = append(out, d)
		}
	}
	slices.Sort(out)
	return out, nil
}
