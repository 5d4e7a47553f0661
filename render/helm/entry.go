package helm

import (
	"io/fs"
	"path"
	"time"
)

// entry is what the ignore rules need of a file: its name and whether it is a folder.
type entry struct {
	name string
	dir  bool
}

// Name is the last part of the path.
func (e entry) Name() string { return path.Base(e.name) }

// Size is unknown and not used.
func (e entry) Size() int64 { return 0 }

// Mode distinguishes folders from files.
func (e entry) Mode() fs.FileMode {
	if e.dir {
		return fs.ModeDir
	}
	return 0
}

// ModTime is unknown and not used.
func (e entry) ModTime() time.Time { return time.Time{} }

// IsDir reports whether it is a folder.
func (e entry) IsDir() bool { return e.dir }

// Sys returns nil.
func (e entry) Sys() any { return nil }
