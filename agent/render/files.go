package render

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	renderv1 "github.com/axle-cd/axle/api/render/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/frame"
)

const (
	// maxFileBytes is the largest file whose content is sent: manifests and charts
	// are far smaller, and a child has 512 MiB of memory in all.
	maxFileBytes = 16 << 20
	// maxTreeBytes is how much one pass may send in total.
	maxTreeBytes = 192 << 20
)

// sender sends the files of a pass, one by one.
type sender struct {
	to    func(*renderv1.File) error
	total int64
	// taken rejects files that two parts have; nil for a service with one part.
	taken *taking
}

// sendFiles sends every file of every mount in the order of their paths. It reads
// nothing outside the folders: each root is opened once, and links are sent as links,
// which the child resolves inside the tree. Several parts are combined by the paths
// under which they are sent; nothing is copied on disk.
func sendFiles(l layout, to func(*renderv1.File) error) error {
	s := &sender{to: to}
	if l.parts {
		s.taken = newTaken(l.mounts)
	}
	for i := range l.mounts {
		if err := s.sendMount(l.mounts, i); err != nil {
			return err
		}
	}
	return nil
}

func (s *sender) sendMount(mounts []*mount, i int) error {
	m := mounts[i]
	root, err := os.OpenRoot(m.part.Dir)
	if err != nil {
		return errcode.Hide(errcode.Internal, err, "the service's unpacked files cannot be opened; the agent fetches them again on its next poll")
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("read the service's files: %w", err)
		}
		return s.send(root, name, entry, i, m)
	})
}

func (s *sender) send(root *os.Root, name string, entry fs.DirEntry, i int, m *mount) error {
	file := &renderv1.File{Path: path.Join(m.at, name)}
	switch {
	case entry.IsDir() && entry.Name() == ".git":
		// Only a person's own work tree has one; it is not a file of the service.
		return fs.SkipDir
	case entry.IsDir():
		return nil
	case entry.Type()&fs.ModeSymlink != 0:
		target, err := root.Readlink(name)
		if err != nil {
			return fmt.Errorf("read the service's files: %w", err)
		}
		file.Link = target
	case entry.Type().IsRegular():
		if err := s.fill(root, file, name); err != nil {
			return err
		}
	default:
		return errcode.New(errcode.Invalid, "%s is neither a file, a folder nor a link; services can only contain these", name)
	}
	if s.taken != nil {
		if again, err := s.taken.take(file, i); again || err != nil {
			return err
		}
	}
	if err := s.to(file); err != nil {
		return err
	}
	return s.show(name, file, i, m)
}

// show sends a link to a file of a hidden mount, at the position of its part.
func (s *sender) show(name string, file *renderv1.File, i int, m *mount) error {
	seen, ok := m.seenAt(name)
	if !ok {
		return nil
	}
	if again, err := s.taken.takeAs(seen, file, i); again || err != nil {
		return err
	}
	target, err := relative(path.Dir(seen), file.GetPath())
	if err != nil {
		return err
	}
	return s.to(&renderv1.File{Path: seen, Link: target})
}

// fill puts a file's content into the frame, or its size if it is too large.
func (s *sender) fill(root *os.Root, file *renderv1.File, name string) error {
	f, err := root.Open(name)
	if err != nil {
		return fmt.Errorf("read the service's files: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("read the service's files: %w", err)
	}
	file.Executable = info.Mode()&0o111 != 0
	if info.Size() > maxFileBytes {
		file.OmittedBytes = info.Size()
		return nil
	}
	if s.total += info.Size(); s.total > maxTreeBytes {
		return errcode.New(errcode.Exhausted,
			"the service's files have more than %d MiB together; point the service at a smaller folder", maxTreeBytes>>20)
	}
	file.Content, err = io.ReadAll(io.LimitReader(f, maxFileBytes))
	if err != nil {
		return fmt.Errorf("read the service's files: %w", err)
	}
	return nil
}

// toChild sends files through the pipe.
func toChild(out io.Writer) func(*renderv1.File) error {
	return func(file *renderv1.File) error {
		err := frame.Write(out, &renderv1.ToChild{Message: &renderv1.ToChild_File{File: file}})
		if err != nil {
			return &pipeError{err}
		}
		return nil
	}
}

// pipeError marks an error of the pipe, whose cause is the child, not the files.
type pipeError struct{ cause error }

// Error returns the cause's text.
func (e *pipeError) Error() string { return e.cause.Error() }

// Unwrap returns the cause.
func (e *pipeError) Unwrap() error { return e.cause }

// Enclosing returns the root of the Git work tree that contains a folder, and the
// folder's path inside it, so that a person's folder renders with what it refers to
// outside (../../base). Without a work tree it is the folder itself.
func Enclosing(dir string) (folder, entry string, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", "", err
	}
	for root := dir; ; root = filepath.Dir(root) {
		if _, err := os.Lstat(filepath.Join(root, ".git")); err == nil {
			entry, err := filepath.Rel(root, dir)
			return root, filepath.ToSlash(entry), err
		}
		if root == filepath.Dir(root) {
			return dir, ".", nil
		}
	}
}
