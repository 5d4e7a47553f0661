package install_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/pages"
)

// The pages Install, Upgrade and Uninstall work as they stand: their commands run in order, with
// this machine's address, mail and values.
func TestPagesRunAsTheyStand(t *testing.T) {
	b := newBed(t)
	program, err := bin.Path(t.Context(), "axle", bin.Options{})
	must(t, err)
	dir := t.TempDir()
	values, err := os.ReadFile(b.values)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "values.yaml"), values, 0o600))
	for _, page := range []string{"install/small", "howto/upgrade", "install/uninstall"} {
		blocks, err := pages.Script("../../docs/" + page + ".md")
		must(t, err)
		if len(blocks) < 2 {
			t.Errorf("the page %s has %d blocks", page, len(blocks))
		}
		for _, block := range blocks {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			command := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", strings.ReplaceAll(block.Text, "https://axle.example.com", b.url))
			command.Dir = dir
			command.Env = append(os.Environ(), "KUBECONFIG="+b.Kubeconfig(), "PATH="+filepath.Dir(program)+":"+filepath.Dir(helmProgram(t))+":"+os.Getenv("PATH"))
			out, err := command.CombinedOutput()
			cancel()
			t.Logf("%s:%d\n%s\n%s", page, block.Line, block.Text, out)
			if err != nil {
				t.Fatalf("%s.md:%d: %v\n%s\n%s", page, block.Line, err, block.Text, out)
			}
		}
	}
}
