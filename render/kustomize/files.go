package kustomize

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// files presents the tree to the library below root, with some files replaced and
// others added. It is read-only. The library's own in-memory file system rejects
// names that disks and Git allow.
type files struct {
	tree  *source
	texts map[string][]byte // replace, or are added
	dirs  map[string]bool
}

var _ filesys.FileSystem = (*files)(nil)

func newFiles(t *source, texts ...map[string][]byte) *files {
	f := &files{tree: t, texts: map[string][]byte{}, dirs: map[string]bool{".": true}}
	for _, some := range texts {
		for name, text := range some {
			f.texts[name] = text
			for dir := path.Dir(name); !f.dirs[dir]; dir = path.Dir(dir) {
				f.dirs[dir] = true
			}
		}
	}
	return f
}

// inside converts a path of the library into one of the tree.
func (f *files) inside(name string) (string, bool) {
	name = path.Clean("/" + filepath.ToSlash(name))
	if name == root {
		return ".", true
	}
	return strings.CutPrefix(name, root+"/")
}

// ReadFile returns a file's text.
func (f *files) ReadFile(name string) ([]byte, error) {
	local, ok := f.inside(name)
	if text, replaced := f.texts[local]; replaced {
		return text, nil
	}
	if !ok || !f.tree.IsFile(local) {
		return nil, missing("read", name)
	}
	return f.tree.Read(local)
}

// IsDir reports whether the folder exists.
func (f *files) IsDir(name string) bool {
	local, ok := f.inside(name)
	return ok && (f.dirs[local] || f.tree.IsDir(local))
}

// Exists reports whether the file or folder exists.
func (f *files) Exists(name string) bool {
	local, ok := f.inside(name)
	return ok && (f.isFile(local) || f.IsDir(name))
}

func (f *files) isFile(local string) bool {
	_, added := f.texts[local]
	return added || f.tree.IsFile(local)
}

// CleanedAbs splits a path into its folder and, if it is a file, the file name.
func (f *files) CleanedAbs(name string) (filesys.ConfirmedDir, string, error) {
	clean := path.Clean("/" + filepath.ToSlash(name))
	switch {
	case f.IsDir(clean):
		return filesys.ConfirmedDir(clean), "", nil
	case f.Exists(clean):
		return filesys.ConfirmedDir(path.Dir(clean)), path.Base(clean), nil
	}
	return "", "", missing("open", name)
}

// ReadDir returns the names in a folder.
func (f *files) ReadDir(name string) ([]string, error) {
	local, ok := f.inside(name)
	if !ok || !f.IsDir(name) {
		return nil, missing("read", name)
	}
	var names []string
	for _, file := range f.below(local) {
		if local != "." {
			file = strings.TrimPrefix(file, local+"/")
		}
		first, _, _ := strings.Cut(file, "/")
		if len(names) == 0 || names[len(names)-1] != first {
			names = append(names, first)
		}
	}
	return slices.Compact(names), nil
}

// below returns the files below a folder, sorted.
func (f *files) below(local string) []string {
	all := slices.Clone(f.tree.Below(local))
	for name := range f.texts {
		if local == "." || strings.HasPrefix(name, local+"/") {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Glob returns the files and folders that match the pattern, hidden ones only if the
// pattern names them.
func (f *files) Glob(pattern string) ([]string, error) {
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, fmt.Errorf("the pattern %q: %w", pattern, err)
	}
	found := map[string]bool{}
	for _, file := range f.below(".") {
		for name := path.Join(root, file); name != root; name = path.Dir(name) {
			if ok, _ := path.Match(pattern, name); ok {
				found[name] = true
			}
		}
	}
	names := make([]string, 0, len(found))
	for name := range found {
		names = append(names, name)
	}
	slices.Sort(names)
	if !filesys.IsHiddenFilePath(pattern) {
		names = filesys.RemoveHiddenFiles(names)
	}
	return names, nil
}

func missing(operation, name string) error {
	return &fs.PathError{Op: operation, Path: name, Err: fs.ErrNotExist}
}

func refused(operation, name string) error {
	return &fs.PathError{Op: operation, Path: name, Err: fs.ErrPermission}
}

// Create fails.
func (f *files) Create(name string) (filesys.File, error) { return nil, refused("create", name) }

// Mkdir fails.
func (f *files) Mkdir(name string) error { return refused("mkdir", name) }

// MkdirAll fails.
func (f *files) MkdirAll(name string) error { return refused("mkdir", name) }

// RemoveAll fails.
func (f *files) RemoveAll(name string) error { return refused("remove", name) }

// Open fails: a build reads complete files.
func (f *files) Open(name string) (filesys.File, error) { return nil, refused("open", name) }

// WriteFile fails.
func (f *files) WriteFile(name string, _ []byte) error { return refused("write", name) }

// Walk fails: only commands that a build does not run use it.
func (f *files) Walk(name string, _ filepath.WalkFunc) error { return refused("walk", name) }
