package helm

import (
	"io/fs"
	"path"
	"time"
)

// entry is what the ignore rules want to know of a file: its name and whether
// it is a folder.
type entry struct {
	name string
	dir  bool
}

// Name is the last part of the path.
func (e entry) Name() string { return path.Base(e.name) }

// Size is not known and not asked for.
func (e entry) Size() int64 { return 0 }

// Mode tells a folder from a file.
func (e entry) Mode() fs.FileMode {
	if e.dir {
		return fs.ModeDir
	}
	return 0
}

// ModTime is not known and not asked for.
func (e entry) ModTime() time.Time { return time.Time{} }

// IsDir reports whether it is a folder.
func (e entry) IsDir() bool { return e.dir }

// Sys is nothing.
func (e entry) Sys() any { return nil }
