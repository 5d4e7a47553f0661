package atomicfile_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/axle-cd/axle/internal/atomicfile"
)

func TestFailedWriteKeepsTheOldFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	if err := atomicfile.Write(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("disk full")
	err := atomicfile.WriteFrom(path, 0o600, func(w io.Writer) error {
		if _, err := w.Write([]byte("half")); err != nil {
			return err
		}
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("err = %v", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Errorf("file holds %q", got)
	}
	entries, _ := os.ReadDir(filepath.Dir(path))
	if len(entries) != 1 {
		t.Errorf("%d files left, want 1", len(entries))
	}
}

func TestOneOfManyCreates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	var all sync.WaitGroup
	var created atomic.Int32
	for i := range 20 {
		all.Go(func() {
			switch err := atomicfile.Create(path, []byte{byte('a' + i)}, 0o600); {
			case err == nil:
				created.Add(1)
			case !errors.Is(err, fs.ErrExist):
				t.Error(err)
			}
		})
	}
	all.Wait()
	first, err := os.ReadFile(path)
	if err != nil || created.Load() != 1 || len(first) != 1 {
		t.Errorf("%d created it, it holds %q, %v", created.Load(), first, err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("%d files left, want 1", len(entries))
	}
}

func TestRemoveUnfinishedTakesOnlyItsOwn(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"keep", ".unfinished-12"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := atomicfile.RemoveUnfinished(dir); err != nil {
		t.Fatal(err)
	}
	entries, _ := os.ReadDir(dir)
	if len(entries) != 1 || entries[0].Name() != "keep" {
		t.Errorf("left: %v", entries)
	}
}
