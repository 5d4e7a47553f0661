package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/axle-cd/axle/test/pages"
)

// elsewhere are commands of the runbooks that need what this hub has not: an agent that
// answers, other replicas, pods. That they are commands at all is tested for all pages.
var elsewhere = []string{
	"services diff", "services tree", "services tests", "services rollback", "services approve-prune", "logs", "kubectl", "repos refresh",
	"hub drain", "hub confirm-restore",
}

// What the runbooks tell people to type works on a hub as it stands there.
func TestRunbooksRunAsTheyStand(t *testing.T) {
	all, err := pages.Commands("..", "axle")
	if err != nil {
		t.Fatal(err)
	}
	s := newShell(t)
	t.Chdir(s.dir)
	if err := os.WriteFile(filepath.Join(s.dir, "token"), []byte("hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.exits(0, "clusters create edge-1")
	s.exits(0, "repos add fleet https://git.invalid/fleet --timeout 0")
	s.exits(0, "services create edge-1/web --repo fleet --ref main --folder web")
	ran := map[string]bool{}
commands:
	for _, c := range all {
		line := strings.Join(c.Words, " ")
		if !strings.HasPrefix(c.Page, "docs/runbooks/") || c.Named {
			continue
		}
		for _, prefix := range elsewhere {
			if strings.HasPrefix(line, prefix) {
				continue commands
			}
		}
		ran[c.Page] = true
		if code, out, errs := s.run(line); code != 0 {
			t.Errorf("%s:%d: axle %s: exit %d: %s%s", c.Page, c.Line, line, code, out, errs)
		}
	}
	if len(ran) < 15 {
		t.Errorf("commands of %d runbooks ran", len(ran))
	}
}
