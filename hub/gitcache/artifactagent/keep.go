package artifactagent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/tarball"
)

// keep holds the tarballs of one repository that must survive upstream. A
// file's name consists of its key's hash, its content's digest, the hash of its
// bytes and its entry. Recipes find files by it, pins keep them, and damaged
// ones are detected.
type keep struct{ dir, tmp string }

const (
	keptSuffix = ".tar.zst"
	nameParts  = 5
)

// open creates the folders, and removes what a killed hub left incomplete.
func (k *keep) open() error {
	if err := os.RemoveAll(k.tmp); err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(k.dir, 0o755), os.MkdirAll(k.tmp, 0o755))
}

// kept is one file.
type kept struct {
	path   string
	digest digest.Digest
	hash   string
	stats  tarball.Stats
}

// nameOf returns the part of a file's name that is derived from its key.
func nameOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:16])
}

// put writes the tarball of a folder and stores it under a key.
func (k *keep) put(ctx context.Context, key, dir string, o tarball.Options) (kept, error) {
	f, err := os.CreateTemp(k.tmp, "kept-")
	if err != nil {
		return kept{}, err
	}
	defer os.Remove(f.Name())
	h := sha256.New()
	d, stats, err := tarball.Write(io.MultiWriter(f, h), tarball.Folder(ctx, dir), o)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return kept{}, err
	}
	out := kept{digest: d, hash: hex.EncodeToString(h.Sum(nil)), stats: stats}
	out.path = filepath.Join(k.dir, fmt.Sprintf("%s-%s-%s-%d-%d%s", nameOf(key), d.Hex(), out.hash, stats.Files, stats.Bytes, keptSuffix))
	return out, os.Rename(f.Name(), out.path)
}

// find returns the file that is stored under a key.
func (k *keep) find(key string) (kept, bool) {
	found, err := filepath.Glob(filepath.Join(k.dir, nameOf(key)+"-*"+keptSuffix))
	if err != nil || len(found) == 0 {
		return kept{}, false
	}
	parts := strings.Split(strings.TrimSuffix(filepath.Base(found[0]), keptSuffix), "-")
	if len(parts) != nameParts {
		return kept{}, false
	}
	files, err := strconv.Atoi(parts[3])
	bytes, err2 := strconv.ParseInt(parts[4], 10, 64)
	return kept{path: found[0], digest: digest.Digest(digest.Prefix + parts[1]), hash: parts[2],
		stats: tarball.Stats{Files: files, Bytes: bytes}}, err == nil && err2 == nil
}

// copy writes the stored bytes of a file. A damaged file is removed.
func (k *keep) copy(w io.Writer, f kept) error {
	in, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer in.Close()
	h := sha256.New()
	if _, err := io.Copy(io.MultiWriter(w, h), in); err != nil {
		return err
	}
	if hex.EncodeToString(h.Sum(nil)) != f.hash {
		return errors.Join(errcode.New(errcode.Unavailable, "the kept copy was damaged and is fetched again; try again in a moment"), os.Remove(f.path))
	}
	return nil
}

// has reports whether a file of content has a folder or a file of this path, or
// a link on the way to it.
func (k *keep) has(ctx context.Context, f kept, name string) (bool, error) {
	in, err := os.Open(f.path)
	if err != nil {
		return false, err
	}
	defer in.Close()
	for e, err := range tarball.Read(ctx, in, tarball.Limits{Bytes: math.MaxInt64, Files: math.MaxInt, Depth: math.MaxInt}) {
		if err != nil {
			return false, err
		}
		if e.Path == name || strings.HasPrefix(e.Path, name+"/") || e.Target != "" && strings.HasPrefix(name, e.Path+"/") {
			return true, nil
		}
	}
	return false, nil
}

// list calls each for every kept file.
func (k *keep) list(each func(d string, e fs.FileInfo)) {
	entries, err := os.ReadDir(k.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue
		}
		if parts := strings.Split(e.Name(), "-"); len(parts) == nameParts {
			each(parts[1], info)
		}
	}
}

// size returns the bytes of all kept files.
func (k *keep) size() (n int64) {
	k.list(func(_ string, e fs.FileInfo) { n += e.Size() })
	return n
}

// drop removes files that are not needed and older than a time.
func (k *keep) drop(needed map[string]bool, before time.Time) error {
	var errs []error
	k.list(func(d string, e fs.FileInfo) {
		if !needed[d] && e.ModTime().Before(before) {
			errs = append(errs, os.Remove(filepath.Join(k.dir, e.Name())))
		}
	})
	return errors.Join(errs...)
}

// folder creates an empty temporary folder; end removes it.
func (k *keep) folder() (dir string, end func(), err error) {
	dir, err = os.MkdirTemp(k.tmp, "content-")
	return dir, func() { _ = os.RemoveAll(dir) }, err
}
