package tree_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/axle-cd/axle/internal/tree"
)

func TestFS(t *testing.T) {
	files, err := build(map[string]string{
		"a": "x", "d/b": "y", "d/e/f": "z", "d-x/g": "", "l": "-> d", "m": "-> d/b", "gone": "-> none",
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(files.FS(), "a", "d/b", "d/e/f", "d-x/g", "l/b", "l/e/f", "m"); err != nil {
		t.Error(err)
	}
	large := tree.New()
	if err := large.Omit("big", 1<<30); err != nil {
		t.Fatal(err)
	}
	if err := large.Seal(); err != nil {
		t.Fatal(err)
	}
	if _, err := large.FS().Open("big"); err == nil || !strings.Contains(err.Error(), "1073741824 bytes") {
		t.Errorf("got %v, want the size said", err)
	}
}
