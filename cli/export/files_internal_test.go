package export

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/axle-cd/axle/internal/eventually"
)

// No name of an object leaves its folder or hides a file, and two names never share one.
func TestEveryNameIsOneFile(t *testing.T) {
	for name, want := range map[string]string{"web": "web", "a.b": "a.b", ".hidden": "%2Ehidden", "..": "%2E.", "a/b": "a%2Fb", "a%2Fb": "a%252Fb", "ä": "%C3%A4"} {
		if got := fileName(name); got != want {
			t.Errorf("%q is in %q, want %q", name, got, want)
		}
	}
}

// Two exports into one folder leave it whole: of a new one, all files of one of them, and of one
// that is there each file as one of them wrote it.
func TestExportsAtOnceLeaveWholeFiles(t *testing.T) {
	files := func(of string) (all []file) {
		for i := range 20 {
			all = append(all, file{fmt.Sprintf("kind/%d.yaml", i), []byte(strings.Repeat(of, 100_000))})
		}
		return all
	}
	root := t.TempDir()
	for n := range 20 {
		dir := filepath.Join(root, fmt.Sprint("out-", n/2)) // every second round finds no folder
		var both sync.WaitGroup
		for _, of := range []string{"a", "b"} {
			both.Go(func() {
				_, _ = write(dir, files(of), true) // of two that make the folder one is refused
			})
		}
		eventually.During(both.Wait, func() { whole(t, dir) })
		if found, _ := filepath.Glob(filepath.Join(dir, "kind", "*.yaml")); len(found) == 0 {
			t.Fatal("neither export is there")
		}
	}
	if left, _ := filepath.Glob(filepath.Join(root, ".axle-export-*")); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// whole fails if a file that is there is not as one export wrote it.
func whole(t *testing.T, dir string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "kind", "*.yaml"))
	if err != nil || len(found) > 0 && len(found) != 20 {
		t.Fatalf("%d files, %v", len(found), err)
	}
	for _, path := range found {
		text, err := os.ReadFile(path)
		if a, b := strings.Count(string(text), "a"), strings.Count(string(text), "b"); err != nil || a+b != 100_000 || a*b != 0 {
			t.Fatalf("%s: %d and %d, %v", path, a, b, err)
		}
	}
}
