package git_test

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/gitcache/upstream/git"
	"github.com/axle-cd/axle/test/gitserver"
)

// TestSpacesInNames reads a repository whose project and name have spaces, as Azure DevOps allows, by
// its address as hosts show it, over HTTP and SSH.
func TestSpacesInNames(t *testing.T) {
	t.Parallel()
	const spaced = "my team/the app"
	private, authorized := sshKey(t, "ed25519", "")
	s := newGit(t, gitserver.Config{SSH: true, AuthorizedKey: authorized})
	if err := s.Create(t.Context(), spaced); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), spaced, "main", "change", map[string]gitserver.Content{"a/cm.yaml": "1"}); err != nil {
		t.Fatal(err)
	}
	at := func(address string) string { return strings.Replace(address, repo, "my%20team/the%20app", 1) }
	g := newUpstream(t, git.Config{})
	reads(t, g, git.Access{URL: at(s.URL(repo))}, "over HTTP")
	reads(t, g, git.Access{URL: at(s.SSHURL(repo)), PrivateKey: private, KnownHosts: s.KnownHosts()}, "over SSH")
}
