package backup

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/axle-cd/axle/internal/atomicfile"
	"github.com/axle-cd/axle/internal/errcode"
)

// leftAfter is for how long nobody wrote to an unfinished file that a kill left: who
// still writes one does so more often.
const leftAfter = time.Hour

// folder is the path of a folder, which must exist.
type folder string

// counter counts what passes.
type counter struct {
	to    io.Writer
	bytes int64
}

// Write implements io.Writer.
func (c *counter) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.bytes += int64(n)
	return n, err
}

// Put implements Place.
func (f folder) Put(_ context.Context, name string, fill func(w io.Writer) error) (int64, error) {
	if err := f.sweep(); err != nil {
		return 0, err
	}
	var size int64
	err := atomicfile.WriteFrom(filepath.Join(string(f), name), 0o600, func(w io.Writer) error {
		c := &counter{to: w}
		err := fill(c)
		size = c.bytes
		return err
	})
	return size, err
}

// sweep removes what killed writers left.
func (f folder) sweep() error {
	entries, err := os.ReadDir(string(f))
	if err != nil {
		return errcode.New(errcode.Invalid, "the folder of the backup cannot be used: %w", err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !atomicfile.Unfinished(e.Name()) || time.Since(info.ModTime()) < leftAfter {
			continue
		}
		if err := os.Remove(filepath.Join(string(f), e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return errcode.New(errcode.Invalid, "the rest of an interrupted backup cannot be removed: %w", err)
		}
	}
	return nil
}

// List implements Place.
func (f folder) List(context.Context) ([]File, error) {
	entries, err := os.ReadDir(string(f))
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "the folder of backups cannot be read: %w", err)
	}
	var files []File
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if file, ok := fileOf(e.Name(), info.Size()); ok {
			files = append(files, file)
		}
	}
	return newestFirst(files), nil
}

// Open implements Place.
func (f folder) Open(_ context.Context, name string) (io.ReadCloser, error) {
	file, err := os.Open(filepath.Join(string(f), name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errcode.New(errcode.NotFound, "the backup cannot be read: %w", err)
	}
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "the backup cannot be read: %w", err)
	}
	return file, nil
}

// Remove implements Place.
func (f folder) Remove(_ context.Context, name string) error {
	err := os.Remove(filepath.Join(string(f), name))
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return errcode.New(errcode.Unavailable, "the old backup cannot be removed: %w", err)
}
