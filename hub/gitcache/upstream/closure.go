package upstream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/tarball"
)

// Reader finds content in the commits of a mirror. It remembers trees, so
// looking at the next commit costs what changed.
type Reader struct {
	mirror *Mirror
	trees  *trees
}

// NewReader returns a Reader of a mirror.
func NewReader(m *Mirror) *Reader { return &Reader{mirror: m, trees: newTrees(m)} }

// Content is a folder of a commit and everything that it needs from the same
// commit: the smallest set of trees and files that renders like the whole.
type Content struct {
	// Root is the folder where the tarball begins: the deepest that holds
	// everything. Entry is the asked folder, from there.
	Root, Entry string
	// Key is equal for equal contents.
	Key string

	included map[string]treeEntry // by path from the repository's root
}

// maxIncluded bounds how many places one folder may refer to.
const maxIncluded = 1000

// Find computes the content of a folder. What a user can repair is
// errcode.Unprocessable and says what and where.
func (r *Reader) Find(ctx context.Context, c Commit, folder string, files []string) (*Content, error) {
	s := &search{reader: r, commit: c, content: &Content{included: map[string]treeEntry{}}}
	if err := s.folder(ctx, folder); err != nil {
		return nil, err
	}
	for _, f := range files {
		found, err := s.include(ctx, f)
		if err != nil {
			return nil, err
		}
		if !found {
			return nil, errcode.New(errcode.Unprocessable, "file %q does not exist", f)
		}
	}
	for len(s.todo) > 0 {
		next := s.todo[0]
		s.todo = s.todo[1:]
		if err := s.follow(ctx, next); err != nil {
			return nil, err
		}
	}
	s.content.settle(folder, r.mirror.format)
	return s.content, nil
}

// search is one run of Find.
type search struct {
	reader  *Reader
	commit  Commit
	content *Content
	todo    []string // included paths whose references are not followed yet
}

// folder includes the folder itself, with words for those who mistyped it.
func (s *search) folder(ctx context.Context, folder string) error {
	found, err := s.include(ctx, folder)
	if err != nil {
		return err
	}
	e, ok := s.content.included[folder]
	if found && (!ok || e.mode == modeTree || e.mode == modeLink) {
		return nil
	}
	if found {
		return errcode.New(errcode.Unprocessable, "%q is a file; give the folder it lies in", folder)
	}
	parent := path.Dir(folder)
	names, err := s.reader.names(ctx, s.commit.Tree, parent)
	if err != nil {
		return err
	}
	for names == nil && parent != "." {
		parent = path.Dir(parent)
		if names, err = s.reader.names(ctx, s.commit.Tree, parent); err != nil {
			return err
		}
	}
	where := "the root"
	if parent != "." {
		where = fmt.Sprintf("%q", parent)
	}
	return errcode.New(errcode.Unprocessable, "folder %q does not exist or is empty; folders in %s: %s",
		folder, where, clip(strings.Join(names, ", "), 300))
}

// names lists the folders in a folder, nil when it does not exist.
func (r *Reader) names(ctx context.Context, tree, folder string) ([]string, error) {
	if folder != "." {
		for name := range strings.SplitSeq(folder, "/") {
			e, ok, err := r.trees.find(ctx, tree, name)
			if err != nil || !ok || e.mode != modeTree {
				return nil, err
			}
			tree = e.id
		}
	}
	entries, err := r.trees.read(ctx, tree)
	out := []string{}
	for _, e := range entries {
		if e.mode == modeTree && len(out) < 20 {
			out = append(out, e.name)
		}
	}
	return out, err
}

// include adds what lies at a path, and the links on the way to it. It reports
// whether anything is there.
func (s *search) include(ctx context.Context, p string) (bool, error) {
	for range maxHops {
		at, e, rest, err := s.walk(ctx, p)
		if err != nil || at == missing {
			return false, err
		}
		s.add(at, e)
		if e.mode != modeLink {
			return true, nil
		}
		target, err := s.reader.mirror.Object(ctx, e.id, "blob")
		if err != nil {
			return false, err
		}
		next := path.Join(path.Dir(at), string(target), rest)
		if len(target) == 0 || target[0] == '/' || next == ".." || strings.HasPrefix(next, "../") {
			return false, errcode.New(errcode.Unprocessable, "%q is a link to %.200q, which is outside the repository", at, target)
		}
		if next == "." {
			next = ""
		}
		p = next
	}
	return false, errcode.New(errcode.Unprocessable, "%q leads through more than %d links", p, maxHops)
}

// maxHops bounds chains of links.
const maxHops = 40

// missing is a path that cannot be: the walk ended without an entry.
const missing = "\x00"

// walk goes down to p, or to the first link on the way, after which rest is
// left of the path.
func (s *search) walk(ctx context.Context, p string) (at string, e treeEntry, rest string, err error) {
	e = treeEntry{id: s.commit.Tree, mode: modeTree}
	if p == "" || p == "." {
		return "", e, "", nil
	}
	names := strings.Split(p, "/")
	for i, name := range names {
		if e.mode != modeTree {
			return missing, e, "", nil
		}
		var ok bool
		if e, ok, err = s.reader.trees.find(ctx, e.id, name); err != nil || !ok {
			return missing, e, "", err
		}
		if e.mode == modeLink {
			return strings.Join(names[:i+1], "/"), e, strings.Join(names[i+1:], "/"), nil
		}
	}
	if e.mode == modeSubmodule {
		return missing, e, "", nil
	}
	return p, e, "", nil
}

// add takes an entry in unless a tree that is in holds it.
func (s *search) add(p string, e treeEntry) {
	for dir := p; ; dir = path.Dir(dir) {
		if dir == "." {
			dir = ""
		}
		if _, ok := s.content.included[dir]; ok {
			return
		}
		if dir == "" {
			break
		}
	}
	s.content.included[p] = e
	s.todo = append(s.todo, p)
}

// follow includes what an included tree needs from outside itself.
func (s *search) follow(ctx context.Context, p string) error {
	e := s.content.included[p]
	if e.mode != modeTree {
		return nil
	}
	if len(s.content.included) > maxIncluded {
		return errcode.New(errcode.Unprocessable, "the folder refers to more than %d others", maxIncluded)
	}
	refs, err := s.reader.trees.leavingOf(ctx, e.id, 0)
	if err != nil {
		return err
	}
	for _, ref := range refs {
		target := path.Join(p, ref.path)
		if outside := p == "" || target == ".." || strings.HasPrefix(target, "../"); outside && !ref.link {
			continue // the renderer says so, if it ever comes to that file
		} else if outside {
			return errcode.New(errcode.Unprocessable, "%s is a link to %q, which is outside the repository", path.Join(p, ref.from), ref.path)
		}
		if target == "." {
			target = ""
		}
		// What is not there is the renderer's to report; a link may dangle.
		if _, err := s.include(ctx, target); err != nil {
			return err
		}
	}
	return nil
}

// settle drops what other parts hold, finds the root and computes the key.
func (c *Content) settle(folder, format string) {
	paths := slices.Sorted(maps.Keys(c.included))
	for _, p := range paths {
		for dir := p; dir != "" && dir != "."; {
			if dir = path.Dir(dir); dir == "." {
				dir = ""
			}
			if e, ok := c.included[dir]; ok && e.mode == modeTree {
				delete(c.included, p)
				break
			}
		}
	}
	c.Root = folder
	for p, e := range c.included {
		if e.mode != modeTree {
			if p = path.Dir(p); p == "." {
				p = ""
			}
		}
		c.Root = common(c.Root, p)
	}
	c.Entry = strings.TrimPrefix(strings.TrimPrefix(folder, c.Root), "/")
	h := sha256.New()
	fmt.Fprintf(h, "content 1\n%s\nlimits %d\nentry %q\n", format, tarball.LimitsVersion, c.Entry)
	for _, p := range slices.Sorted(maps.Keys(c.included)) {
		e := c.included[p]
		fmt.Fprintf(h, "%d %s %q\n", e.mode, e.id, strings.TrimPrefix(strings.TrimPrefix(p, c.Root), "/"))
	}
	c.Key = "k1:" + hex.EncodeToString(h.Sum(nil))
}

// common returns the deepest folder that holds both.
func common(a, b string) string {
	for a != "" && b != a && !strings.HasPrefix(b, a+"/") {
		if a = path.Dir(a); a == "." {
			return ""
		}
	}
	return a
}

// file is one blob of a content.
type file struct {
	path string
	id   string
	mode mode
}

// files lists every blob of the content by its path in the tarball.
func (r *Reader) files(ctx context.Context, c *Content) ([]file, error) {
	var out []file
	limit := tarball.DefaultLimits.Files
	var walk func(p string, e treeEntry, depth int) error
	walk = func(p string, e treeEntry, depth int) error {
		switch {
		case e.mode == modeSubmodule:
			return nil
		case e.mode != modeTree:
			if out = append(out, file{p, e.id, e.mode}); len(out) > 10*limit {
				return errcode.New(errcode.Unprocessable, "the folder holds more than %d files", 10*limit)
			}
			return nil
		case depth > maxDepth:
			return errcode.New(errcode.Unprocessable, "folders nested deeper than %d at %.200q", maxDepth, p)
		}
		entries, err := r.trees.read(ctx, e.id)
		if err != nil {
			return err
		}
		for _, child := range entries {
			// A name with a slash would pass as a folder.
			if strings.Contains(child.name, "/") {
				return errcode.New(errcode.Unprocessable, "%.200q holds the name %.200q, which no folder can", p, child.name)
			}
			next := child.name
			if p != "" {
				next = p + "/" + child.name
			}
			if err := walk(next, child, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	for p, e := range c.included {
		if err := walk(strings.TrimPrefix(strings.TrimPrefix(p, c.Root), "/"), e, 0); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(out, func(a, b file) int { return strings.Compare(a.path, b.path) })
	return out, nil
}

// Entries yields the content as a tarball wants it.
func (r *Reader) Entries(ctx context.Context, c *Content) iter.Seq2[tarball.Entry, error] {
	return func(yield func(tarball.Entry, error) bool) {
		files, err := r.files(ctx, c)
		if err == nil && len(files) == 0 {
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

var kinds = map[mode]digest.Type{modeFile: digest.File, modeExec: digest.Executable, modeLink: digest.Link}
