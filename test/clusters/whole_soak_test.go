//go:build soak

package clusters

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/axle-cd/axle/internal/kubeapply"
)

// Every template holds its contract on the definitions of the component files as they are
// installed: all versions, with descriptions and labels. Only their conversions are left out, behind
// which are the providers' own programs.
func TestTemplatesHoldTheContractOfWholeComponents(t *testing.T) {
	dir := t.TempDir()
	made := exec.CommandContext(t.Context(), "go", "-C", "../../tools/capi", "run", ".", "components", "--out", dir)
	made.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := made.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	whole := map[string]object{}
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		objects, err := kubeapply.Documents(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			if o.GetKind() == "CustomResourceDefinition" {
				delete(at(o.Object, "spec").(object), "conversion")
				whole[o.GetName()] = o.Object
			}
		}
	}
	s := install(t, extracted(t), whole)
	s.core(t)
	for _, name := range shipped(t) {
		t.Run(name, func(t *testing.T) { s.holds(t, mustRead(t, name)) })
	}
}
