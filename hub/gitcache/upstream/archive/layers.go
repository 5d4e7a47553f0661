package archive

import (
	"io/fs"
	"path"
	"strings"

	"github.com/axle-cd/axle/internal/digest"
)

// Names of an image's layers that hide what lies below. Others that begin with
// the prefix twice are notes of an old file system.
const (
	whiteout = ".wh."
	opaque   = ".wh..opq"
)

// folder makes room for a folder where an earlier archive left a file or a
// link, as container runtimes do. The folder itself comes with its first file.
func (u *unpacker) folder(raw string) error {
	if !u.options.Over {
		return nil
	}
	name, err := u.name(raw)
	if err != nil || digest.CheckPath(name) != nil {
		return nil // nothing comes of it
	}
	if _, ours := u.laid[name]; ours {
		return nil
	}
	if info, err := u.root.Lstat(name); err == nil && !info.IsDir() {
		return u.root.Remove(name)
	}
	return nil
}

// whiteout does what an entry asks for that hides others.
func (u *unpacker) whiteout(name, hidden string) error {
	dir := path.Dir(name)
	switch {
	case hidden == opaque:
		return u.clear(dir)
	case strings.HasPrefix(hidden, whiteout):
		return nil
	case hidden == "", hidden == ".", hidden == "..":
		return &digest.PathError{Path: name, Reason: "is a whiteout that names nothing"}
	}
	return u.hide(path.Join(dir, hidden))
}

// hide removes what earlier archives left at a path; what this one wrote stays.
func (u *unpacker) hide(name string) error {
	folder, ours := u.laid[name]
	switch {
	case !ours:
		if _, err := u.root.Lstat(name); err != nil {
			return nil // nothing is there, nor may be: it is below a file
		}
		return u.root.RemoveAll(name)
	case folder:
		return u.clear(name)
	}
	return nil
}

// clear hides all in a folder.
func (u *unpacker) clear(dir string) error {
	if info, err := u.root.Stat(dir); err != nil || !info.IsDir() {
		return nil
	}
	entries, err := fs.ReadDir(u.root.FS(), dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := u.hide(path.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}
