package health_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/agent/health"
)

// TestCustomizations runs folders of scripts in Argo CD's layout, each with its own
// cases: GROUP/KIND/health.lua, health_test.yaml and the files it names. Those below
// testdata use every feature of its scripts. With ARGO_CD=PATH, a checkout of Argo
// CD, its scripts run too: make argo-health.
func TestCustomizations(t *testing.T) {
	scripts, cases := runCustomizations(t, "testdata/customizations")
	if scripts < 5 || cases < 20 {
		t.Errorf("%d scripts with %d cases", scripts, cases)
	}
	checkout := os.Getenv("ARGO_CD")
	if checkout == "" {
		t.Log("ARGO_CD names no checkout of Argo CD: only our own scripts were run")
		return
	}
	scripts, cases = runCustomizations(t, filepath.Join(checkout, "resource_customizations"))
	t.Logf("Argo CD has %d scripts with %d cases", scripts, cases)
	if scripts < 100 {
		t.Errorf("%d scripts in %s: is it a checkout of Argo CD?", scripts, checkout)
	}
}

func runCustomizations(t *testing.T, root string) (scripts, cases int) {
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "health.lua" {
			return err
		}
		scripts++
		cases += runCustomization(t, root, filepath.Dir(path))
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return scripts, cases
}

func runCustomization(t *testing.T, root, dir string) int {
	raw, err := os.ReadFile(filepath.Join(dir, "health_test.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Tests []struct {
			InputPath    string
			HealthStatus health.Result
		}
	}
	if err := yaml.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	for _, c := range list.Tests {
		input, err := os.ReadFile(filepath.Join(dir, c.InputPath))
		if err != nil {
			t.Fatal(err)
		}
		thing := object(t, string(input))
		if got := scriptFor(t, root, dir, thing).Judge(thing); got != c.HealthStatus {
			t.Errorf("%s/%s:\n got %+v\nwant %+v", dir, c.InputPath, got, c.HealthStatus)
		}
	}
	return len(list.Tests)
}

// scriptFor is the script of the object's own kind, which a folder for many
// kinds may have cases of.
func scriptFor(t *testing.T, root, dir string, object *unstructured.Unstructured) *health.Lua {
	kind := object.GroupVersionKind()
	source, err := os.ReadFile(filepath.Join(root, kind.Group, kind.Kind, "health.lua"))
	if err != nil {
		source, err = os.ReadFile(filepath.Join(dir, "health.lua"))
	}
	if err != nil {
		t.Fatal(err)
	}
	script, err := health.CompileLua(dir, string(source))
	if err != nil {
		t.Fatal(err)
	}
	return script
}
