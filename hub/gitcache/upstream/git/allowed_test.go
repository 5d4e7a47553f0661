package git_test

import (
	"net/netip"
	"net/url"
	"testing"

	"github.com/axle-cd/axle/hub/gitcache/upstream/git"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/test/gitserver"
)

// A server that is named with its port is read at an internal address, also by git itself,
// and another one at the same address is not.
func TestOneHostMayBeInternal(t *testing.T) {
	t.Parallel()
	s, other := newGit(t, gitserver.Config{TLS: true, Username: "git", Password: "s3cret"}), newGit(t, gitserver.Config{})
	u, err := url.Parse(s.URL(repo))
	if err != nil {
		t.Fatal(err)
	}
	g := newUpstream(t, git.Config{Allow: []netip.Prefix{}, Hosts: []string{u.Host}})
	reads(t, g, git.Access{URL: s.URL(repo), CA: s.CA(), Password: "s3cret"}, "the host that is allowed")
	if _, _, err := list(t.Context(), server(t, g, git.Access{URL: other.URL(repo)})); !errcode.Is(err, errcode.Forbidden) {
		t.Errorf("another host: %v", err)
	}
}
