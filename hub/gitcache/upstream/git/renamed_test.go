package git_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/gitcache/upstream/git"
	"github.com/axle-cd/axle/test/gitserver"
)

// TestRenamedRepositoryIsRead has a repository whose old address redirects, as hosts do after
// a rename and GitLab does for an address without .git: what follows goes to the new one.
func TestRenamedRepositoryIsRead(t *testing.T) {
	t.Parallel()
	s := newGit(t, gitserver.Config{})
	to, err := url.Parse("http://" + s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(to)
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rest, old := strings.CutPrefix(r.URL.Path, "/old/name"); old {
			to := strings.TrimPrefix(s.URL(repo), "http://"+s.Addr()) + rest
			if r.URL.RawQuery != "" {
				to += "?" + r.URL.RawQuery
			}
			http.Redirect(w, r, to, http.StatusMovedPermanently)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(host.Close)
	reads(t, newUpstream(t, git.Config{}), git.Access{URL: host.URL + "/old/name"}, "renamed")
}
