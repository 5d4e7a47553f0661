package mirror_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/gitcache/gitref"
	"github.com/axle-cd/axle/hub/gitcache/mirror"
	"github.com/axle-cd/axle/test/gitserver"
)

const repo = "team/app"

var mirrors = mirror.NewPool(nil)

// newGit starts a server with one repository of one commit. Mirrors copy from
// its folder, because they know no network.
func newGit(t *testing.T) *gitserver.Server {
	t.Helper()
	s, err := gitserver.Start(t.Context(), gitserver.Config{})
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

func newMirror(t *testing.T, format string) *mirror.Mirror {
	t.Helper()
	m, err := mirrors.Open(t.Context(), filepath.Join(t.TempDir(), "m.git"), format)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// fetch copies one object and what it needs.
func fetch(t *testing.T, s *gitserver.Server, m *mirror.Mirror, id string) {
	t.Helper()
	if lost := m.Rescue(t.Context(), s.Path(repo), []string{id}); len(lost) > 0 {
		t.Fatalf("%s cannot be copied", id)
	}
}

// pull does what an agent does with a mirror: list, fetch what changed, set refs.
func pull(t *testing.T, s *gitserver.Server, m *mirror.Mirror) *mirror.Table {
	t.Helper()
	table, err := m.Table(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d := table.Compare()
	refs, err := s.Git(t.Context(), repo, nil, nil, "for-each-ref", "--format=%(objectname) %(refname)")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(refs) {
		id, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !gitref.Under(name, gitref.AllPrefixes) {
			continue
		}
		if err := d.See(gitref.Ref{Name: name, ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	d.End(gitref.AllPrefixes)
	fetched := map[string]bool{}
	for _, id := range d.Changed.All() {
		if !fetched[id] {
			fetch(t, s, m, id)
		}
		fetched[id] = true
	}
	if err := m.SetDefault(t.Context(), "refs/heads/main"); err != nil {
		t.Fatal(err)
	}
	if err := m.SetRefs(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if table, err = m.Table(t.Context()); err != nil {
		t.Fatal(err)
	}
	return table
}
