package clusters

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/axle-cd/axle/test/pages"
)

// The commands of the page make a template that holds the contract. make is only asked for what it
// would run, which is this package with the folder that is judged here, and the CLI for its arguments.
func forkATemplate(t *testing.T, s *server) {
	blocks, err := pages.Script("../../docs/howto/fork-a-template.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	script := `set -euo pipefail
axle() { printf '%s\n' "$@" > called; }
make() { command make --dry-run "$@" > made; }
git init --quiet --bare fleet.git
git clone --quiet fleet.git fleet 2>/dev/null
git -C fleet config user.name Ann
git -C fleet config user.email ann@example.com
`
	for _, b := range blocks {
		script += b.Text + "\n"
	}
	if err := os.Symlink(root, filepath.Join(dir, "axle")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	forked, err := read(os.DirFS(filepath.Join(dir, "fleet/clusters/dev")))
	if err != nil {
		t.Fatal(err)
	}
	s.holds(t, forked)
	if forked.Name != "dev" || forked.variable("images") == nil {
		t.Errorf("the template is called %s, images: %v", forked.Name, forked.variable("images"))
	}
	made, _ := os.ReadFile(filepath.Join(dir, "made"))
	if want := "AXLE_TEMPLATE='" + filepath.Join(dir, "fleet/clusters/dev") + "'"; !strings.Contains(string(made), want) || !strings.Contains(string(made), "./test/clusters -run 'TestTemplatesHoldTheContract$'") {
		t.Errorf("make would run\n%swant %s and this package", made, want)
	}
	called, _ := os.ReadFile(filepath.Join(dir, "called"))
	args := strings.Fields(string(called))
	if kinds := args[len(args)-1]; !slices.Equal(strings.Split(kinds, ","), forked.Kinds) {
		t.Errorf("registered with the kinds %s, want %v", kinds, forked.Kinds)
	}
	head, err := exec.CommandContext(t.Context(), "git", "-C", filepath.Join(dir, "fleet.git"), "rev-parse", "HEAD").Output()
	if err != nil || !slices.Contains(args, strings.TrimSpace(string(head))) {
		t.Errorf("registered by %v, and pushed %s, %v", args, head, err)
	}
}
