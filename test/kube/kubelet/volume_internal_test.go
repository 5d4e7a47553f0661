package kubelet

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVolumeHoldsExactlyItsFiles(t *testing.T) {
	dir := t.TempDir()
	for _, step := range []map[string]string{
		{"a": "1", "b": "2"},
		{"a": "1", "b": "2"},
		{"b": "new", "deep/c": "3"},
		{},
	} {
		files := map[string]payload{}
		for name, text := range step {
			files[name] = payload{data: []byte(text), mode: 0o640}
		}
		if err := writeFiles(dir, files, func(string) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step, content(t, dir)); diff != "" {
			t.Errorf("want - got +\n%s", diff)
		}
		if hidden, _ := filepath.Glob(filepath.Join(dir, ".*")); len(hidden) != 2 {
			t.Errorf("beside ..data and its folder there are %q", hidden)
		}
	}
}

// content reads a file as a program sees it, through the links.
func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"[a-z]*", "[a-z]*/*"} {
		names, _ := filepath.Glob(filepath.Join(dir, pattern))
		for _, name := range names {
			short, _ := filepath.Rel(dir, name)
			if info, err := os.Stat(name); err == nil && info.IsDir() {
				continue
			}
			text, err := os.ReadFile(name)
			if all[short] = string(text); err != nil {
				all[short] = err.Error()
			}
		}
	}
	return all
}
