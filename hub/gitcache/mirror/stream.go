package mirror

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/axle-cd/axle/hub/gitcache/references"
	"github.com/axle-cd/axle/internal/checkedfile"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/tarball"
)

var errStopped = errors.New("the reader stopped")

var kinds = map[mode]digest.Type{modeFile: digest.File, modeExec: digest.Executable, modeLink: digest.Link}

// file is one blob of a content.
type file struct {
	path string
	id   string
	mode mode
	lfs  bool // it may be a pointer
}

// scope is the result of the attribute files on the way down to a folder; later
// ones win.
type scope struct {
	dir   string
	lines references.Attributes
}

// files lists every blob of the content by its path in the tarball.
func (r *Reader) files(ctx context.Context, c *Content) ([]file, error) {
	l := newLister(r, c, 3*tarball.DefaultLimits.Files)
	for p, e := range c.included {
		scopes, err := r.scopesAbove(ctx, c, p)
		if err != nil {
			return nil, err
		}
		if err := l.walk(ctx, p, e, 0, scopes); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(l.out, func(a, b file) int { return strings.Compare(a.path, b.path) })
	return l.out, nil
}

type lister struct {
	reader  *Reader
	content *Content
	limit   int
	seen    int // folders and files: trees that share trees multiply both
	steps   int // of the patterns of attribute files
	// trees are the last ones: one that stands in 300,000 places must not cost as
	// many questions to git.
	trees *trees
	// attributes are the attribute files by their ids.
	attributes map[string]references.Attributes
	out        []file
}

func newLister(r *Reader, c *Content, limit int) *lister {
	return &lister{reader: r, content: c, limit: limit, trees: newTrees(r.mirror, maxListedEntries), attributes: map[string]references.Attributes{}}
}

// maxListedAttributes limits the attribute files that a listing remembers, of
// up to 10,000 lines each.
const maxListedAttributes = 16

// walk visits p, a path from the repository's root, and everything below.
func (l *lister) walk(ctx context.Context, p string, e treeEntry, depth int, scopes []scope) error {
	switch l.seen++; {
	case l.seen > l.limit:
		return errcode.New(errcode.Unprocessable, "the folder holds more than %d files and folders (at %.200q)", l.limit, p)
	case e.mode == modeSubmodule:
		return nil
	case e.mode != modeTree:
		f := file{path: l.content.fromRoot(p), id: e.id, mode: e.mode}
		if l.content.lfs && e.mode != modeLink {
			var err error
			if f.lfs, err = l.filtered(scopes, p); err != nil {
				return err
			}
		}
		l.out = append(l.out, f)
		return nil
	case depth > maxDepth:
		return errcode.New(errcode.Unprocessable, "folders nested deeper than %d at %.200q", maxDepth, p)
	}
	// What is remembered asks nobody who would notice the end.
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, err := l.trees.read(ctx, e.id, true)
	if err != nil {
		return err
	}
	if l.content.lfs {
		if scopes, err = l.scopeOf(ctx, scopes, p, entries); err != nil {
			return err
		}
	}
	for _, child := range entries {
		// A name with a slash would be taken for a folder.
		if strings.Contains(child.name, "/") {
			return errcode.New(errcode.Unprocessable, "%.200q holds the name %.200q, which is not valid in a folder", p, child.name)
		}
		next := child.name
		if p != "" {
			next = p + "/" + child.name
		}
		if err := l.walk(ctx, next, child, depth+1, scopes); err != nil {
			return err
		}
	}
	return nil
}

// Entries yields the content in the order of a tarball, without the content of
// other servers. It replaces LFS pointers with the files that FetchLFS fetched.
func (r *Reader) Entries(ctx context.Context, c *Content) iter.Seq2[tarball.Entry, error] {
	return func(yield func(tarball.Entry, error) bool) {
		files, err := r.files(ctx, c)
		if err == nil && len(files) == 0 && len(c.Links) == 0 {
			err = errcode.New(errcode.Unprocessable, "folder %q holds no files", path.Join(c.Root, c.Entry))
		}
		if err == nil {
			err = r.stream(ctx, files, yield)
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(tarball.Entry{}, err)
		}
	}
}

// stream yields the files one after the other, straight from git.
func (r *Reader) stream(ctx context.Context, files []file, yield func(tarball.Entry, error) bool) error {
	ids := make([]string, len(files))
	for i, f := range files {
		ids[i] = f.id
	}
	return r.mirror.Blobs(ctx, ids, func(i int, size int64, body io.Reader) error {
		e := tarball.Entry{Path: files[i].path, Type: kinds[files[i].mode], Size: size, Body: body}
		if e.Type == digest.Link {
			raw, err := io.ReadAll(io.LimitReader(body, digest.MaxPathBytes+1))
			if err != nil {
				return err
			}
			if e = (tarball.Entry{Path: e.Path, Type: e.Type, Target: string(raw)}); digest.CheckLink(e.Path, e.Target) != nil {
				_, err := io.Copy(io.Discard, body)
				return err // Find named it
			}
		}
		if files[i].lfs && size <= references.MaxPointer {
			end, err := r.smudge(&e)
			if err != nil {
				return err
			}
			defer end()
		}
		if !yield(e, nil) {
			return errStopped
		}
		return nil
	})
}

// smudge replaces a pointer with its file. A file that is not a pointer stays.
func (r *Reader) smudge(e *tarball.Entry) (end func(), err error) {
	raw, err := io.ReadAll(e.Body)
	if err != nil {
		return nil, err
	}
	e.Body = bytes.NewReader(raw)
	p, ok := references.ParsePointer(raw)
	if !ok {
		return func() {}, nil
	}
	f, err := os.Open(lfsPath(r.mirror, p.OID))
	if errors.Is(err, os.ErrNotExist) {
		return nil, errcode.New(errcode.Unavailable, "the LFS file of %q is not copied yet", e.Path)
	}
	if err != nil {
		return nil, err
	}
	e.Body, e.Size = checkedfile.New(f, p.Size, p.OID), p.Size
	return func() { _ = f.Close() }, nil
}
