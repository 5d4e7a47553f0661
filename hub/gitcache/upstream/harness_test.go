package upstream_test

import (
	"context"
	"maps"
	"net/netip"
	"path/filepath"
	"slices"
	"testing"

	"github.com/axle-cd/axle/hub/gitcache/upstream"
	"github.com/axle-cd/axle/test/gitserver"
)

const repo = "team/app"

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// newGit starts a server with one repository of one commit.
func newGit(t *testing.T, c gitserver.Config) *gitserver.Server {
	t.Helper()
	s, err := gitserver.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.Create(t.Context(), repo); err != nil {
		t.Fatal(err)
	}
	commit(t, s, "main", "1")
	return s
}

func commit(t *testing.T, s *gitserver.Server, branch, text string) string {
	t.Helper()
	id, err := s.Commit(t.Context(), repo, branch, "change", map[string]gitserver.Content{"a/cm.yaml": text})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func newUpstream(t *testing.T, c upstream.Config) *upstream.Git {
	t.Helper()
	if c.Allow == nil {
		c.Allow = loopback
	}
	c.AllowHTTP = true
	if c.Getenv == nil {
		c.Getenv = func(string) string { return "" }
	}
	g, err := upstream.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	return g
}

func server(t *testing.T, g *upstream.Git, a upstream.Access) *upstream.Server {
	t.Helper()
	s, err := g.Server(a)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// list returns what a server shows, by name.
func list(ctx context.Context, s *upstream.Server, prefixes ...string) (map[string]string, upstream.Listing, error) {
	if len(prefixes) == 0 {
		prefixes = upstream.AllPrefixes
	}
	refs := map[string]string{}
	l, err := s.List(ctx, prefixes, func(r upstream.Ref) error { refs[r.Name] = r.ID; return nil })
	return refs, l, err
}

// pull does what an agent does with a mirror: list all, fetch, set refs.
func pull(ctx context.Context, s *upstream.Server, m *upstream.Mirror) (*upstream.Table, error) {
	before, err := m.Table(ctx)
	if err != nil {
		return nil, err
	}
	d := before.Compare()
	l, err := s.List(ctx, upstream.AllPrefixes, d.See)
	if err != nil {
		return nil, err
	}
	d.End(upstream.AllPrefixes)
	ids := map[string]bool{}
	for _, id := range d.Changed.All() {
		ids[id] = true
	}
	if len(ids) > 0 {
		if err := s.Fetch(ctx, m, slices.Collect(maps.Keys(ids))); err != nil {
			return nil, err
		}
	}
	if err := m.SetDefault(ctx, l.Default); err != nil {
		return nil, err
	}
	if err := m.SetRefs(ctx, d); err != nil {
		return nil, err
	}
	return m.Table(ctx)
}

func newMirror(t *testing.T, g *upstream.Git, format string) *upstream.Mirror {
	t.Helper()
	m, err := g.OpenMirror(t.Context(), filepath.Join(t.TempDir(), "m.git"), format)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// reads fails the test unless the repository can be listed and fetched.
func reads(t *testing.T, g *upstream.Git, a upstream.Access, name string) {
	t.Helper()
	table, err := pull(t.Context(), server(t, g, a), newMirror(t, g, "sha1"))
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if table.Raw("refs/heads/main") == "" || table.Default() != "refs/heads/main" {
		t.Errorf("%s: %d refs, default branch %q", name, table.Len(), table.Default())
	}
}
