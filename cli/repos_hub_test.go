package cli_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/gitserver"
)

// A repository that is added with wrong credentials says so, and is fetched once it gets the
// right ones. Both come from files. That no text has them, whatever they are, is
// TestNoTextHasASecret; that what was fetched before stays, TestWrongCredentials of hub/gitcache.
func TestRepositoryWithWrongCredentials(t *testing.T) {
	git, err := gitserver.Start(t.Context(), gitserver.Config{Username: "ci", Password: "correct-horse-battery"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = git.Close() })
	if err := git.Create(t.Context(), "fleet"); err != nil {
		t.Fatal(err)
	}
	if _, err := git.Commit(t.Context(), "fleet", "main", "one", map[string]gitserver.Content{"app/one.yaml": "# one"}); err != nil {
		t.Fatal(err)
	}
	s := shellOf(t, hubtest.New(t, hubtest.Config{Hub: hubtest.HubConfig{AllowHTTPUpstreams: true}}))
	wrong, right := s.write("wrong", "wrong-password-0815\n"), s.write("right", "correct-horse-battery\n")
	s.exits(exitcode.Failed, "repos add fleet "+git.URL("fleet")+" --username ci --password-file "+wrong, "refuses the credentials", "axle repos update")
	s.exits(0, "repos update fleet --username ci --password-file "+right)
	eventually.For(t, 30*time.Second, "the repository is fetched", func() error {
		if out := s.exits(0, "repos get fleet -o json"); !strings.Contains(out, `"health": "Pullable"`) {
			return fmt.Errorf("it is %s", out)
		}
		return nil
	})
}
