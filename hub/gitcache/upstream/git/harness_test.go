package git_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"path/filepath"
	"slices"
	"testing"

	"github.com/axle-cd/axle/hub/gitcache/gitexec"
	"github.com/axle-cd/axle/hub/gitcache/gitref"
	"github.com/axle-cd/axle/hub/gitcache/references"
	"github.com/axle-cd/axle/hub/gitcache/upstream/git"
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

func newUpstream(t *testing.T, c git.Config) *git.Git {
	t.Helper()
	if c.Allow == nil {
		c.Allow = loopback
	}
	c.AllowHTTP = true
	if c.Getenv == nil {
		c.Getenv = func(string) string { return "" }
	}
	g, err := git.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	return g
}

func server(t *testing.T, g *git.Git, a git.Access) *git.Server {
	t.Helper()
	s, err := g.Server(a)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// list returns what a server shows, by name.
func list(ctx context.Context, s *git.Server, prefixes ...string) (map[string]string, git.Listing, error) {
	if len(prefixes) == 0 {
		prefixes = gitref.AllPrefixes
	}
	refs := map[string]string{}
	l, err := s.List(ctx, prefixes, func(r gitref.Ref) error { refs[r.Name] = r.ID; return nil })
	return refs, l, err
}

// repository is a plain bare repository that receives what a server sends.
type repository struct {
	dir    string
	failed error // of the last fetch
}

func (r *repository) Dir() string                                          { return r.dir }
func (r *repository) FetchFailed(err error)                                { r.failed = err }
func (r *repository) StoreLFS(references.Pointer, io.Reader) (bool, error) { return true, nil }

func newRepository(t *testing.T) *repository {
	t.Helper()
	r := &repository{dir: filepath.Join(t.TempDir(), "r.git")}
	if err := (gitexec.Direct{}).Run(t.Context(), gitexec.Command{Args: []string{"init", "-q", "--bare", r.dir}}); err != nil {
		t.Fatal(err)
	}
	return r
}

// has reports whether the repository has a commit and all that it needs.
func (r *repository) has(ctx context.Context, id string) bool {
	return gitexec.Direct{}.Run(ctx, gitexec.Command{Dir: r.dir, Args: []string{"--git-dir=.", "rev-list", "--objects", "--quiet", id}}) == nil
}

// pull lists everything and fetches it. The refs are those of the server.
func pull(ctx context.Context, s *git.Server, to *repository) (map[string]string, error) {
	refs, _, err := list(ctx, s)
	if err != nil {
		return nil, err
	}
	to.failed = nil
	if err := s.Fetch(ctx, to, slices.Compact(slices.Sorted(maps.Values(refs)))); err != nil {
		return nil, err
	}
	for name, id := range refs {
		if !to.has(ctx, id) {
			return nil, fmt.Errorf("%s is not complete after a fetch", name)
		}
	}
	return refs, nil
}

// reads fails the test unless the repository can be listed and fetched.
func reads(t *testing.T, g *git.Git, a git.Access, name string) {
	t.Helper()
	s := server(t, g, a)
	_, l, err := list(t.Context(), s)
	if err == nil && l.Default != "refs/heads/main" {
		t.Errorf("%s: default branch %q", name, l.Default)
	}
	if err == nil {
		_, err = pull(t.Context(), s, newRepository(t))
	}
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
}
