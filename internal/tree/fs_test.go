package tree_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/axle-cd/axle/internal/tree"
)

func TestFS(t *testing.T) {
	files, err := build(map[string]string{
		"a": "x", "d/b": "y", "d/e/f": "z", "d-x/g": "", "l": "-> d", "m": "-> d/b",
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(files.FS(), "a", "d/b", "d/e/f", "d-x/g", "l/b", "l/e/f", "m"); err != nil {
		t.Error(err)
	}
	if files, err = build(map[string]string{"d/gone": "-> none"}); err != nil {
		t.Fatal(err)
	}
	if listed, err := fs.ReadDir(files.FS(), "d"); err != nil || len(listed) != 1 || listed[0].Name() != "gone" {
		t.Errorf("a broken link: %v, %v", listed, err)
	}
	var bad *tree.Error
	if _, err := files.FS().Open("d/gone"); !errors.As(err, &bad) || !strings.Contains(bad.Message, "does not exist") {
		t.Errorf("a broken link: %v", err)
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
