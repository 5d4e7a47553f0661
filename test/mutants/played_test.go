//go:build soak

package mutants

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// With each mutation, the test beside the package fails.
func TestEachMutantIsNoticed(t *testing.T) {
	for _, m := range rows(t) {
		t.Run(m.folder, func(t *testing.T) {
			text, err := m.mutated(root)
			if err != nil {
				t.Fatal(err)
			}
			file, err := filepath.Abs(filepath.Join(root, m.folder, m.file))
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			mutated, overlay := filepath.Join(dir, m.file), filepath.Join(dir, "overlay.json")
			replaced, err := json.Marshal(map[string]map[string]string{"Replace": {file: mutated}})
			if err != nil {
				t.Fatal(err)
			}
			for path, data := range map[string][]byte{mutated: []byte(text), overlay: replaced} {
				if err := os.WriteFile(path, data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			run := exec.CommandContext(t.Context(), "go", "test", "-overlay", overlay, "-vet=off", "-ldflags=-w", "-count=1", "-run", "^"+m.test+"$", "./"+m.folder)
			run.Dir = root
			run.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS="+os.Getenv("GOFLAGS")+" -trimpath")
			out, err := run.CombinedOutput()
			if err == nil {
				t.Errorf("%s passes with %q in place of %q", m.test, m.to, m.from)
			} else if !strings.Contains(string(out), "--- FAIL: "+m.test) {
				t.Errorf("%s fails by something else:\n%s", m.test, out)
			}
		})
	}
}
