package tree

import (
	"bytes"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// FS returns the tree as a read-only file system, for libraries that need one. It
// must be sealed first. Every file is readable; times are zero.
func (t *Tree) FS() fs.FS { return files{t} }

type files struct{ tree *Tree }

// Open opens a file or a folder.
func (f files) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if f.tree.IsFile(name) {
		text, err := f.tree.Read(name)
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
		return &file{Reader: bytes.NewReader(text), info: info{name: path.Base(name), size: int64(len(text))}}, nil
	}
	if why := f.tree.Why(name); why != "" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: &Error{name, why}}
	}
	if name != "." && !f.tree.IsDir(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &folder{info: info{name: path.Base(name), dir: true}, entries: f.entries(name)}, nil
}

// entries lists what is directly inside a folder, sorted by name, with broken links as
// files: opening one is the error.
func (f files) entries(dir string) []fs.DirEntry {
	var out []fs.DirEntry
	last := ""
	for _, name := range f.tree.Below(dir) {
		rest := name
		if dir != "." {
			rest = strings.TrimPrefix(name, dir+"/")
		}
		first, _, deeper := strings.Cut(rest, "/")
		if first == last {
			continue
		}
		switch {
		case deeper:
			out = append(out, fs.FileInfoToDirEntry(info{name: first, dir: true}))
		case f.tree.IsFile(name):
			e := f.tree.files[name]
			out = append(out, fs.FileInfoToDirEntry(info{name: first, size: max(int64(len(e.content)), e.omitted)}))
		default:
			out = append(out, fs.FileInfoToDirEntry(info{name: first}))
		}
		last = first
	}
	slices.SortStableFunc(out, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return slices.CompactFunc(out, func(a, b fs.DirEntry) bool { return a.Name() == b.Name() })
}

// info describes a file.
type info struct {
	name string
	size int64
	dir  bool
}

// Name is the last part of the path.
func (i info) Name() string { return i.name }

// Size is the size of the content.
func (i info) Size() int64 { return i.size }

// Mode is readable by all.
func (i info) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

// ModTime is always the same.
func (i info) ModTime() time.Time { return time.Time{} }

// IsDir reports a folder.
func (i info) IsDir() bool { return i.dir }

// Sys returns nil.
func (i info) Sys() any { return nil }

type file struct {
	*bytes.Reader
	info info
}

// Stat describes the file.
func (f *file) Stat() (fs.FileInfo, error) { return f.info, nil }

// Close does nothing.
func (f *file) Close() error { return nil }

type folder struct {
	info    info
	entries []fs.DirEntry
}

// Stat describes the folder.
func (f *folder) Stat() (fs.FileInfo, error) { return f.info, nil }

// Close does nothing.
func (f *folder) Close() error { return nil }

// Read fails: a folder has no content.
func (f *folder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: f.info.name, Err: fs.ErrInvalid}
}

// ReadDir returns the next entries.
func (f *folder) ReadDir(n int) ([]fs.DirEntry, error) {
	if n > 0 && len(f.entries) == 0 {
		return nil, io.EOF
	}
	if n <= 0 || n > len(f.entries) {
		n = len(f.entries)
	}
	out := f.entries[:n]
	f.entries = f.entries[n:]
	return out, nil
}
