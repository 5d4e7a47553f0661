// Package atomicfile writes files so that a reader, or the next start after a
// kill at any point, sees the old bytes or the new ones and nothing between.
// It does not lock; two writers of one path end with one of the two, and of two
// that create it one is refused.
package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// prefix marks unfinished files, so that a start can remove them.
const prefix = ".unfinished-"

// Write replaces path with data: a temporary file beside it, synced, renamed.
func Write(path string, data []byte, mode os.FileMode) error {
	return WriteFrom(path, mode, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Create is Write for a path that must be free: fs.ErrExist if another was first.
func Create(path string, data []byte, mode os.FileMode) error {
	return write(path, mode, true, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}, link)
}

// link gives an unfinished file its name, unless that is taken.
func link(unfinished, path string) error {
	err := os.Link(unfinished, path)
	switch {
	case err == nil:
		return os.Remove(unfinished)
	case errors.Is(err, fs.ErrExist):
		return err
	}
	// A file system without hard links leaves a moment between the two.
	if _, err := os.Lstat(path); err == nil {
		return fs.ErrExist
	}
	return os.Rename(unfinished, path)
}

// WriteUnsynced is Write for caches: a kill cannot leave a mixture, but after a power
// failure the file may be empty or damaged. It is for files whose readers detect that
// and do not depend on them, and costs a tenth.
func WriteUnsynced(path string, data []byte, mode os.FileMode) error {
	return write(path, mode, false, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}, os.Rename)
}

// WriteFrom is Write for content that fill produces. If fill fails, nothing of it
// remains and the old file stays.
func WriteFrom(path string, mode os.FileMode, fill func(io.Writer) error) error {
	return write(path, mode, true, fill, os.Rename)
}

func write(path string, mode os.FileMode, sync bool, fill func(io.Writer) error, place func(unfinished, path string) error) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, prefix+"*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("write %s: %w", path, err), f.Close(), os.Remove(f.Name()))
		}
	}()
	if err = f.Chmod(mode); err != nil {
		return err
	}
	if err = fill(f); err != nil {
		return err
	}
	if sync {
		if err = f.Sync(); err != nil {
			return err
		}
	}
	if err = place(f.Name(), path); err != nil {
		return err
	}
	if cerr := f.Close(); cerr != nil {
		return fmt.Errorf("write %s: %w", path, cerr)
	}
	if !sync {
		return nil
	}
	return syncDir(dir)
}

// syncDir makes the renames and removals in a folder durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync folder: %w", err)
	}
	return errors.Join(d.Sync(), d.Close())
}

// Unfinished reports whether a name is that of an unfinished file, for folders where
// others may be writing one now.
func Unfinished(name string) bool { return strings.HasPrefix(name, prefix) }

// RemoveUnfinished deletes what killed writers left in a folder.
func RemoveUnfinished(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for unfinished files: %w", err)
	}
	for _, e := range entries {
		if Unfinished(e.Name()) {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, os.ErrNotExist) {
				return fmt.Errorf("remove unfinished file: %w", err)
			}
		}
	}
	return nil
}
