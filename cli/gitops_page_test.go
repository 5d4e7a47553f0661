package cli_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/axle-cd/axle/test/pages"
)

// TestTheGitOpsGuide runs the commands of the guide as they stand there, with the files
// that it shows, on a real hub. A diff may find changes; afterwards it finds none.
func TestTheGitOpsGuide(t *testing.T) {
	all, err := pages.Commands("..", "axle")
	if err != nil {
		t.Fatal(err)
	}
	examples, err := filepath.Abs("../examples/gitops")
	if err != nil {
		t.Fatal(err)
	}
	s := newShell(t)
	if err := os.CopyFS(filepath.Join(s.dir, "gitops"), os.DirFS(examples)); err != nil {
		t.Fatal(err)
	}
	t.Chdir(s.dir)
	s.exits(0, "clusters create edge-1")
	// The guide begins where the management cluster is connected.
	s.exits(0, "clusters create mgmt")
	ran := 0
	for _, c := range all {
		if c.Page != "docs/howto/gitops.md" || c.Named {
			continue
		}
		ran++
		line := strings.Join(c.Words, " ")
		code, out, errs := s.run(line)
		if code != 0 && (code != 1 || c.Words[0] != "diff") {
			t.Errorf("%s:%d: axle %s: exit %d: %s%s", c.Page, c.Line, line, code, out, errs)
		}
		if strings.Contains(line, "--live") && !strings.Contains(out, "# 1 unchanged") {
			t.Errorf("%s:%d: after the apply: %s", c.Page, c.Line, out)
		}
	}
	if ran < 10 {
		t.Errorf("only %d commands were found", ran)
	}
	s.exits(0, "diff -f gitops/platform/declared --set platform --prune", "# 6 unchanged")
	names := strings.Fields(s.exits(0, "get services -o name"))
	if want := []string{"edge-1/web-prod", "edge-1/web-test", "mgmt/platform", "mgmt/tenants"}; !slices.Equal(names, want) {
		t.Errorf("services %q, want %q", names, want)
	}
	// What was written is as the export would lay it out.
	s.exits(0, "export out --managed-by apply")
	for _, file := range []string{"projects/shop.yaml", "repositories/addons.yaml", "contexts/site.yaml", "globalservices/logs.yaml", "clusters/edge-1/cluster.yaml"} {
		for _, root := range []string{"out", "gitops/platform/declared"} {
			if _, err := os.Stat(filepath.Join(root, file)); err != nil {
				t.Error(err)
			}
		}
	}
}
