package render_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/axle-cd/axle/agent/render"
	"github.com/axle-cd/axle/test/bin"
)

// binary is axle-render.
var binary string

func TestMain(m *testing.M) {
	if binary = os.Getenv(orphanVariable); binary != "" {
		orphan()
		return
	}
	var err error
	if binary, err = bin.Path(context.Background(), "axle-render", bin.Options{}); err != nil {
		panic(err)
	}
	m.Run()
}

// folder writes files and returns their folder.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// newRunner returns a runner that ends with the test.
func newRunner(t *testing.T, config render.Config) *render.Runner {
	t.Helper()
	if config.Binary == "" {
		config.Binary = binary
	}
	runner, err := render.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(runner.Close)
	return runner
}

// patient is a context for passes that must succeed on a busy machine.
func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestExamples(t *testing.T) {
	runner := newRunner(t, render.Config{})
	tests := map[string]struct{ objects int }{
		"raw-web":          {objects: 3},
		"overlays/staging": {objects: 3},
		"chart":            {objects: 3},
	}
	for entry, test := range tests {
		t.Run(entry, func(t *testing.T) {
			result, err := runner.Render(patient(t), render.Pass{
				Project: "default", Name: "shop", Namespace: "shop", Folder: "../../examples/apps", Entry: entry,
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(result.Objects) != test.objects {
				t.Errorf("got %d objects, want %d: %v", len(result.Objects), test.objects, result)
			}
		})
	}
}

func TestEnclosingWorkTree(t *testing.T) {
	dir := folder(t, map[string]string{
		".git/config": "", "apps/base/kustomization.yaml": "resources: [a.yaml]\n", "apps/base/a.yaml": good,
		"apps/over/kustomization.yaml": "resources: [../base]\n",
	})
	root, entry, err := render.Enclosing(filepath.Join(dir, "apps/over"))
	if err != nil || root != dir || entry != "apps/over" {
		t.Fatalf("got %q, %q, %v", root, entry, err)
	}
	result, err := newRunner(t, render.Config{}).Render(patient(t), render.Pass{Folder: root, Entry: entry})
	if err != nil || len(result.Objects) != 1 {
		t.Errorf("%d objects, %v; want one", len(result.Objects), err)
	}
	plain := t.TempDir()
	if root, entry, err := render.Enclosing(plain); err != nil || root != plain || entry != "." {
		t.Errorf("without a work tree: %q, %q, %v", root, entry, err)
	}
}
