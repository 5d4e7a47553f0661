// Package tree holds the files of one service in memory during rendering. Symbolic
// links are resolved once, when the tree is sealed, so that a reader sees only plain
// files and cannot leave the tree.
//
// It does not read a disk and does not interpret the files. The render child fills it
// from frames; renderers read it. Paths are slash-separated, relative and clean; "" and
// "." are the root.
package tree

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// maxFiles bounds a sealed tree: links to folders multiply files, and a few of them
// could exceed any memory.
const maxFiles = 200_000

// Error is a problem with one path of the tree.
type Error struct {
	Path    string
	Message string
}

// Error returns the message without the path, which is a field.
func (e *Error) Error() string { return e.Message }

// entry is a file, a link, or a file whose content was omitted.
type entry struct {
	content []byte
	link    string
	omitted int64
}

// Tree is a set of files. Fill it with Add, Link and Omit, then Seal it.
type Tree struct {
	raw    map[string]entry
	paths  []string // of raw, sorted, once sealed
	files  map[string]entry
	names  []string // of files, sorted
	broken map[string]string
	// settled counts what Seal added, links followed one by one.
	settled int
}

// New returns an empty tree.
func New() *Tree { return &Tree{raw: map[string]entry{}} }

// Add adds a file. The content is kept, not copied.
func (t *Tree) Add(name string, content []byte) error {
	return t.put(name, entry{content: content})
}

// Omit adds a file whose content is missing because it is too large; reading it is an
// error, having it is not.
func (t *Tree) Omit(name string, size int64) error {
	return t.put(name, entry{omitted: max(size, 1)})
}

// Link adds a symbolic link. Reading one that leads out of the tree, or nowhere, is an
// error; having it is not.
func (t *Tree) Link(name, target string) error {
	if target == "" {
		target = "/"
	}
	return t.put(name, entry{link: target})
}

// LeaveOut records, of a sealed tree, why there is nothing at a path: reading it, or what
// would be below it, gives the reason.
func (t *Tree) LeaveOut(name, why string) {
	at, known := slices.BinarySearch(t.names, name)
	if !fs.ValidPath(name) || known || t.IsDir(name) {
		return
	}
	t.broken[name] = why
	t.names = slices.Insert(t.names, at, name)
}

// Why says why there is nothing at a path, "" if it is just not there.
func (t *Tree) Why(name string) string {
	for at := path.Clean(name); at != "." && at != "/"; at = path.Dir(at) {
		if why := t.broken[at]; why != "" {
			return why
		}
	}
	return ""
}

func (t *Tree) put(name string, e entry) error {
	if !fs.ValidPath(name) || name == "." || strings.ContainsRune(name, 0) {
		return &Error{name, fmt.Sprintf("%q is not a valid file name", name)}
	}
	if len(t.raw) >= maxFiles {
		return &Error{name, fmt.Sprintf("more than %d files", maxFiles)}
	}
	t.raw[name] = e
	return nil
}

func escapes(clean string) bool { return clean == ".." || strings.HasPrefix(clean, "../") }

// Read returns a file's content. The caller must not change it.
func (t *Tree) Read(name string) ([]byte, error) {
	name = path.Clean(name)
	e, ok := t.files[name]
	switch {
	case ok && e.omitted > 0:
		return nil, &Error{name, fmt.Sprintf("the file has %d bytes, more than a renderer reads; do not use large files in rendering", e.omitted)}
	case ok:
		return e.content, nil
	}
	if why := t.Why(name); why != "" {
		return nil, &Error{name, why}
	}
	return nil, &Error{name, "no such file: " + name}
}

// Bytes is the size of all added files, without following links.
func (t *Tree) Bytes() int64 {
	var sum int64
	for _, e := range t.raw {
		sum += int64(len(e.content))
	}
	return sum
}

// IsFile reports whether name is a file, or a link to one.
func (t *Tree) IsFile(name string) bool {
	_, ok := t.files[path.Clean(name)]
	return ok
}

// IsDir reports whether any file is below the folder.
func (t *Tree) IsDir(name string) bool { return len(t.Below(name)) > 0 }

// Below returns the full paths of all files below a folder, sorted. A broken link is
// included, so that reading it gives the error.
func (t *Tree) Below(dir string) []string {
	return below(t.names, path.Clean(dir))
}

// below returns the sorted names under dir.
func below(names []string, dir string) []string {
	if dir == "." || dir == "" {
		return names
	}
	start, _ := slices.BinarySearch(names, dir+"/")
	// '0' is the byte after '/'.
	end, _ := slices.BinarySearch(names, dir+"0")
	return names[start:end]
}
