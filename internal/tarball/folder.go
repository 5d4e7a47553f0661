package tarball

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strings"

	"github.com/axle-cd/axle/internal/digest"
)

// Folder yields what lies in dir, sorted as Write wants it.
func Folder(ctx context.Context, dir string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		root, err := os.OpenRoot(dir)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		defer root.Close()
		paths, err := list(root)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		for _, p := range paths {
			if err := ctx.Err(); err != nil {
				yield(Entry{}, err)
				return
			}
			if !one(root, p, yield) {
				return
			}
		}
	}
}

// Hash computes the digest of what lies in dir, as Unpack left it there.
func Hash(ctx context.Context, dir string, limits Limits) (digest.Digest, Stats, error) {
	var stats Stats
	sums := digest.New()
	for e, err := range Folder(ctx, dir) {
		if err != nil {
			return "", stats, err
		}
		if err := limits.take(&stats, e.Path, e.Size); err != nil {
			return "", stats, err
		}
		sum, err := e.sum()
		if err != nil {
			return "", stats, err
		}
		if err := sums.Add(e.Path, e.Type, sum); err != nil {
			return "", stats, err
		}
	}
	return sums.Digest(), stats, nil
}

// list returns the paths of all files and links, sorted by bytes. A walk is
// sorted folder by folder, which puts "a/b" before "a.b"; the digest does not.
func list(root *os.Root) ([]string, error) {
	var paths []string
	err := fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			paths = append(paths, p)
		}
		return err
	})
	slices.SortFunc(paths, strings.Compare)
	return paths, err
}

// one yields the entry at p, with its file open while it is looked at.
func one(root *os.Root, p string, yield func(Entry, error) bool) bool {
	info, err := root.Lstat(p)
	if err != nil {
		return yield(Entry{}, err)
	}
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		target, err := root.Readlink(p)
		return yield(Entry{Path: p, Type: digest.Link, Target: target}, err)
	case !mode.IsRegular():
		return yield(Entry{}, &digest.PathError{Path: p, Reason: "is neither a file nor a symbolic link"})
	}
	f, err := root.Open(p)
	if err != nil {
		return yield(Entry{}, err)
	}
	defer f.Close()
	kind := digest.File
	if info.Mode()&0o100 != 0 {
		kind = digest.Executable
	}
	return yield(Entry{Path: p, Type: kind, Size: info.Size(), Body: f}, nil)
}

func (e Entry) sum() (digest.Sum, error) {
	if e.Type == digest.Link {
		return digest.SumOf([]byte(e.Target)), nil
	}
	h := sha256.New()
	n, err := io.Copy(h, e.Body)
	if err == nil && n != e.Size {
		err = errors.New("its size changed while it was read")
	}
	if err != nil {
		return digest.Sum{}, fmt.Errorf("hash %q: %w", e.Path, err)
	}
	return digest.Sum(h.Sum(nil)), nil
}
