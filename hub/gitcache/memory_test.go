package gitcache_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/gitcache/gitcachetest"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
)

// Memory is a gitcache.Store in memory that knows no managers, in which tests can count calls and inject
// faults. It is safe for concurrent use.
type Memory struct {
	mu      sync.Mutex
	clock   clock.Clock
	repos   map[string]*repo
	sources map[string]*source
	heads   map[string]gitcache.Head
	arts    map[digest.Digest]gitcache.Artifact
	pins    map[digest.Digest]bool
	fail    func(method string) error
	feed    []string
	calls   map[string]int
	noGaps  bool
}

var _ gitcache.Store = (*Memory)(nil)

// TestMemory checks it as the database is checked.
func TestMemory(t *testing.T) {
	gitcachetest.RunStoreSuite(t, func(*testing.T) gitcachetest.Fixture {
		m := NewMemory(nil)
		return gitcachetest.Fixture{
			Store:     m,
			Refer:     func(_ *testing.T, id string, by int) { m.Refer(id, by) },
			Pin:       func(_ *testing.T, d digest.Digest, pinned bool) { m.Pin(d, pinned) },
			Announced: func(*testing.T) int { return len(m.Feed()) },
		}
	})
}

type repo struct {
	row     gitcache.Repository
	creds   gitcache.Credentials
	holder  gitcache.Holder
	epoch   int64
	expires time.Time
	started time.Time
	kicked  time.Time
}

type source struct {
	row   gitcache.Source
	put   time.Time
	users int
}

// NewMemory returns an empty store that reads the time from c, or from the
// machine when c is nil.
func NewMemory(c clock.Clock) *Memory {
	if c == nil {
		c = clock.Real{}
	}
	return &Memory{clock: c, repos: map[string]*repo{}, sources: map[string]*source{}, heads: map[string]gitcache.Head{},
		arts: map[digest.Digest]gitcache.Artifact{}, pins: map[digest.Digest]bool{}, calls: map[string]int{}}
}

// FailWith calls fail first in every call, with the method's name, and returns
// its error. Nil ends it.
func (m *Memory) FailWith(fail func(method string) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = fail
}

// Feed returns what was announced so far, one line each: "repository ID",
// "source ID", "head ID", "health ID".
func (m *Memory) Feed() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.feed)
}

// IgnoreGaps allows fetches to start at any time, for tests that move an
// agent's clock but not the store's.
func (m *Memory) IgnoreGaps() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.noGaps = true
}

// Calls returns how often a method was called.
func (m *Memory) Calls(method string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls[method]
}

// Refer records that one more service (or, with -1, one less) follows a source.
func (m *Memory) Refer(sourceID string, by int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sources[sourceID].users += by
}

// Pin pins or unpins a digest.
func (m *Memory) Pin(d digest.Digest, pinned bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if pinned {
		m.pins[d] = true
	} else {
		delete(m.pins, d)
	}
}

// enter locks the store for one call; the caller unlocks.
func (m *Memory) enter(ctx context.Context, method string) (now time.Time, err error) {
	if err := ctx.Err(); err != nil {
		return now, err
	}
	m.mu.Lock()
	m.calls[method]++
	if m.fail != nil {
		if err := m.fail(method); err != nil {
			m.mu.Unlock()
			return now, err
		}
	}
	return m.clock.Now().UTC().Truncate(time.Microsecond), nil
}

func (m *Memory) announce(kind, id string) { m.feed = append(m.feed, kind+" "+id) }

func (m *Memory) repo(id string) (*repo, error) {
	if r := m.repos[id]; r != nil {
		return r, nil
	}
	return nil, errcode.New(errcode.NotFound, "repository %s does not exist", id)
}

func (m *Memory) nameTaken(id, name string) error {
	for _, r := range m.repos {
		if r.row.ID == id || r.row.Name == name {
			return errcode.New(errcode.Conflict, "a repository named %q exists already", name)
		}
	}
	return nil
}

// Repositories implements gitcache.Store.
func (m *Memory) Repositories(ctx context.Context) ([]gitcache.Repository, error) {
	if _, err := m.enter(ctx, "Repositories"); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	var out []gitcache.Repository
	for _, r := range m.repos {
		out = append(out, r.row)
	}
	slices.SortFunc(out, func(a, b gitcache.Repository) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// RepositoriesNamed implements gitcache.Store.
func (m *Memory) RepositoriesNamed(ctx context.Context, names, urls []string) (out []gitcache.Repository, err error) {
	if _, err := m.enter(ctx, "RepositoriesNamed"); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	for _, r := range m.repos {
		if slices.Contains(names, r.row.Name) || slices.ContainsFunc(urls, r.row.IsAt) {
			out = append(out, r.row)
		}
	}
	slices.SortFunc(out, func(a, b gitcache.Repository) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// Repository implements gitcache.Store.
func (m *Memory) Repository(ctx context.Context, id string) (gitcache.Repository, error) {
	if _, err := m.enter(ctx, "Repository"); err != nil {
		return gitcache.Repository{}, err
	}
	defer m.mu.Unlock()
	r, err := m.repo(id)
	if err != nil {
		return gitcache.Repository{}, err
	}
	return r.row, nil
}

// Credentials implements gitcache.Store.
func (m *Memory) Credentials(ctx context.Context, id string) (gitcache.Credentials, error) {
	if _, err := m.enter(ctx, "Credentials"); err != nil {
		return gitcache.Credentials{}, err
	}
	defer m.mu.Unlock()
	r, err := m.repo(id)
	if err != nil {
		return gitcache.Credentials{}, err
	}
	return r.creds, nil
}

// CreateRepository implements gitcache.Store.
func (m *Memory) CreateRepository(ctx context.Context, r gitcache.Repository, c gitcache.Credentials) (gitcache.Repository, error) {
	now, err := m.enter(ctx, "CreateRepository")
	if err != nil {
		return gitcache.Repository{}, err
	}
	defer m.mu.Unlock()
	if err := m.nameTaken(r.ID, r.Name); err != nil {
		return gitcache.Repository{}, err
	}
	r.CreatedAt, r.UpdatedAt, r.Generation = now, now, 1
	r.Health = gitcache.Health{State: record.Unknown}
	m.repos[r.ID] = &repo{row: r, creds: c}
	m.announce("repository", r.ID)
	return r, nil
}

// UpdateRepository implements gitcache.Store.
func (m *Memory) UpdateRepository(ctx context.Context, n gitcache.Repository, c *gitcache.Credentials) (gitcache.Repository, error) {
	now, err := m.enter(ctx, "UpdateRepository")
	if err != nil {
		return gitcache.Repository{}, err
	}
	defer m.mu.Unlock()
	r, err := m.repo(n.ID)
	if err != nil {
		return gitcache.Repository{}, err
	}
	if n.Name != r.row.Name {
		if err := m.nameTaken("", n.Name); err != nil {
			return gitcache.Repository{}, err
		}
	}
	if c == nil {
		if err := record.KeepsSecret(r.row, n, r.creds); err != nil {
			return gitcache.Repository{}, err
		}
	}
	n = n.Moved(r.row)
	if !r.row.IsAt(n.URL) {
		for id, h := range m.heads {
			if h.RepositoryID == n.ID {
				delete(m.heads, id)
				m.announce("head", id)
			}
		}
		r.epoch++
		r.holder, r.expires = gitcache.Holder{}, time.Time{}
		r.row.Health = gitcache.Health{State: record.Unknown}
	}
	if n.URL != r.row.URL || n.Auth != r.row.Auth || !reflect.DeepEqual(n.Options, r.row.Options) || c != nil {
		r.row.Generation++
	}
	if c != nil {
		r.creds = *c
	}
	r.row.Name, r.row.ProjectID, r.row.URL, r.row.Written, r.row.Auth, r.row.Options, r.row.UpdatedAt = n.Name, n.ProjectID, n.URL, n.Written, n.Auth, n.Options, now
	m.announce("repository", n.ID)
	return r.row, nil
}

// DeleteRepository implements gitcache.Store.
func (m *Memory) DeleteRepository(ctx context.Context, id string) error {
	if _, err := m.enter(ctx, "DeleteRepository"); err != nil {
		return err
	}
	defer m.mu.Unlock()
	r, err := m.repo(id)
	if err != nil {
		return err
	}
	for _, s := range m.sources {
		if s.row.RepositoryID == id && s.users > 0 {
			return errcode.New(errcode.Conflict, "repository %q is used by services; delete or change them first", r.row.Name)
		}
	}
	for sid, s := range m.sources {
		if s.row.RepositoryID == id {
			delete(m.sources, sid)
			delete(m.heads, sid)
		}
	}
	for d, a := range m.arts {
		if a.Recipe.RepositoryID == id {
			delete(m.arts, d)
		}
	}
	delete(m.repos, id)
	m.announce("repository", id)
	return nil
}
