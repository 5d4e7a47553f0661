package mirror

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/axle-cd/axle/hub/gitcache/references"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/repourl"
	"github.com/axle-cd/axle/internal/tarball"
	"github.com/axle-cd/axle/internal/vendored"
)

// Reader finds content in the commits of a mirror. It caches trees, so the next
// commit costs only what changed.
type Reader struct {
	mirror *Mirror
	trees  *trees
}

// NewReader returns a Reader of a mirror.
func NewReader(m *Mirror) *Reader { return &Reader{mirror: m, trees: newTrees(m, maxTreeEntries)} }

// Ask describes the content that a source needs of a commit.
type Ask struct {
	Folder string
	Files  []string
	// Submodules and LFS request content from elsewhere; URL is the
	// repository's, to which submodules' URLs may be relative.
	Submodules bool
	LFS        bool
	URL        string
}

// Content is a folder of a commit and everything that it needs from the same
// commit: the smallest set of trees and files that renders like the whole.
type Content struct {
	// Root is the folder where the tarball begins: the deepest one that
	// contains everything. Entry is the requested folder, relative to Root.
	Root, Entry string
	// Key is equal for equal contents.
	Key string
	// External are the references to content of other servers; File is the path
	// from Root.
	External []references.External
	// Links are the submodules, by their paths from Root, if they were requested.
	Links []Link
	// LeftOut are the submodules that were not requested, and the symbolic links that lead
	// out of the content, by their paths from Root. They are not in the key: what names them
	// changes with the content.
	LeftOut []vendored.LeftOut

	// LFSURL is the LFS server that the repository's .lfsconfig names, if LFS was requested.
	LFSURL string

	included  map[string]treeEntry // by path from the repository's root
	outer     []string             // attribute files above the included, and the .lfsconfig
	probes    map[string]bool
	lfs       bool
	lfsConfig references.LFSConfig
}

// Probes returns the paths, from the repository's root, on which the content
// depends. The content is the same while none of them changes, nothing below
// them, and nothing on the way to them.
func (c *Content) Probes() []string { return slices.Collect(maps.Keys(c.probes)) }

// Exists reports whether there is anything at a path from Root.
func (r *Reader) Exists(ctx context.Context, commit Commit, c *Content, p string) (bool, error) {
	s := &search{reader: r, commit: commit, content: &Content{probes: map[string]bool{}}}
	at, _, _, err := s.walk(ctx, path.Join(c.Root, p))
	return at != missing, err
}

// maxIncluded limits how many paths one folder may refer to.
const maxIncluded = 1000

// Find computes the content of a folder. Errors that a user can fix are
// errcode.Unprocessable and say what is wrong and where.
func (r *Reader) Find(ctx context.Context, c Commit, ask Ask) (*Content, error) {
	s := &search{reader: r, commit: c, ask: ask, content: &Content{included: map[string]treeEntry{}, probes: map[string]bool{}, lfs: ask.LFS}}
	if err := s.folder(ctx, ask.Folder); err != nil {
		return nil, err
	}
	for _, f := range ask.Files {
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
	s.content.settle(ask.Folder)
	if err := s.outside(ctx); err != nil {
		return nil, err
	}
	s.content.sign(r.mirror.format)
	return s.content, nil
}

// search is one run of Find.
type search struct {
	reader  *Reader
	commit  Commit
	ask     Ask
	content *Content
	todo    []string // included paths whose references are not followed yet
}

// folder includes the folder itself, with a helpful error for a mistyped name.
func (s *search) folder(ctx context.Context, folder string) error {
	found, err := s.include(ctx, folder)
	if err != nil {
		return err
	}
	e, ok := s.content.included[folder]
	if found && (!ok || e.mode == modeTree || e.mode == modeLink || e.mode == modeSubmodule) {
		return nil
	}
	if found {
		return errcode.New(errcode.Unprocessable, "%q is a file; give the folder that contains it", folder)
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
	if name, other := spelledOtherwise(folder, parent, names); other != "" {
		return errcode.New(errcode.Unprocessable, "folder %q does not exist, but %q in %s does, which looks the same and consists of other Unicode characters (%+q instead of %+q): copy the name from the repository",
			folder, other, where, other, name)
	}
	return errcode.New(errcode.Unprocessable, "folder %q does not exist or is empty; folders in %s: %s",
		folder, where, clip(strings.Join(names[:min(len(names), 20)], ", "), 300))
}

// spelledOtherwise returns the part of a folder's path that does not exist in parent, and the
// name there that differs from it in Unicode normalisation only.
func spelledOtherwise(folder, parent string, names []string) (name, other string) {
	if parent != "." {
		folder = strings.TrimPrefix(folder, parent+"/")
	}
	name, _, _ = strings.Cut(folder, "/")
	for _, n := range names {
		if n != name && norm.NFC.String(n) == norm.NFC.String(name) {
			return name, n
		}
	}
	return name, ""
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
	entries, err := r.trees.read(ctx, tree, true)
	out := []string{}
	for _, e := range entries {
		if e.mode == modeTree {
			out = append(out, e.name)
		}
	}
	return out, err
}

// include adds what is at a path, and the links on the way to it. It reports
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
			return false, errcode.New(errcode.Unprocessable, "%q is a link to %.200q, which is %w", at, target, errAstray)
		}
		if next == "." {
			next = ""
		}
		p = next
	}
	return false, errcode.New(errcode.Unprocessable, "%q leads through more than %d links: %w", p, maxHops, errAstray)
}

// errAstray means that a link leads nowhere in the repository.
var errAstray = errors.New("outside the repository")

// maxHops limits chains of links.
const maxHops = 40

// missing is an impossible path: the walk ended without an entry.
const missing = "\x00"

// walk goes down to p, or to the first link or submodule on the way; rest is
// then the remaining path.
func (s *search) walk(ctx context.Context, p string) (at string, e treeEntry, rest string, err error) {
	e = treeEntry{id: s.commit.Tree, mode: modeTree}
	if p == "" || p == "." {
		s.content.probes[""] = true
		return "", e, "", nil
	}
	names := strings.Split(p, "/")
	for i, name := range names {
		if e.mode != modeTree {
			break
		}
		var ok bool
		if e, ok, err = s.reader.trees.find(ctx, e.id, name); err != nil || !ok {
			s.content.probes[p] = true
			return missing, e, "", err
		}
		if e.mode == modeLink || e.mode == modeSubmodule && s.ask.Submodules {
			at = strings.Join(names[:i+1], "/")
			s.content.probes[at] = true
			return at, e, strings.Join(names[i+1:], "/"), nil
		}
		if e.mode != modeTree && i+1 < len(names) {
			s.content.probes[p] = true
			s.content.probes[strings.Join(names[:i+1], "/")] = true
			return missing, e, "", nil
		}
	}
	s.content.probes[p] = true
	if e.mode == modeSubmodule {
		return missing, e, "", nil
	}
	return p, e, "", nil
}

// add includes an entry unless an included tree contains it.
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
	f, err := s.reader.trees.factsOf(ctx, e.id, 0)
	if err != nil {
		return err
	}
	for _, ref := range f.leaving {
		target := path.Join(p, ref.path)
		if p == "" || target == ".." || strings.HasPrefix(target, "../") {
			continue // the renderer reports it, if it reads that file
		}
		if target == "." {
			target = ""
		}
		// The renderer reports what does not exist, if it reads it; a link may dangle.
		if _, err := s.include(ctx, target); err != nil && !errors.Is(err, errAstray) {
			return err
		}
	}
	return nil
}

// settle drops paths that others contain and finds the root.
func (c *Content) settle(folder string) {
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
	c.Entry = c.fromRoot(folder)
}

// fromRoot returns a path relative to the tarball's start.
func (c *Content) fromRoot(p string) string {
	return strings.TrimPrefix(strings.TrimPrefix(p, c.Root), "/")
}

// outside collects what the included trees need from other servers.
func (s *search) outside(ctx context.Context) error {
	c := s.content
	for _, p := range slices.Sorted(maps.Keys(c.included)) {
		e := c.included[p]
		if e.mode == modeSubmodule {
			c.Links = append(c.Links, Link{Path: p, Commit: e.id})
		}
		if e.mode == modeLink {
			target, err := s.reader.mirror.Object(ctx, e.id, "blob")
			if err != nil {
				return err
			}
			c.astray(Link{Path: p, URL: string(target)})
		}
		if e.mode != modeTree {
			continue
		}
		f, err := s.reader.trees.factsOf(ctx, e.id, 0)
		if err != nil {
			return err
		}
		for _, n := range f.external {
			n.File = c.fromRoot(path.Join(p, n.File))
			c.External = append(c.External, n)
		}
		for _, l := range f.links {
			l.Path = path.Join(p, l.Path)
			c.Links = append(c.Links, l)
		}
		for _, l := range f.away {
			l.Path = path.Join(p, l.Path)
			c.astray(l)
		}
	}
	if s.ask.LFS {
		if err := errors.Join(s.lfsConfig(ctx), s.attributes(ctx)); err != nil {
			return err
		}
	}
	return s.submodules(ctx)
}

// astray leaves a symbolic link out if it leads out of the content.
func (c *Content) astray(l Link) {
	var wrong *digest.PathError
	if at := c.fromRoot(l.Path); errors.As(digest.CheckLink(at, l.URL), &wrong) {
		c.leaveOut(l.Path, "the symbolic link is left out, because %q %s; what is read must lie in the repository", path.Base(at), wrong.Reason)
	}
}

// leaveOut adds what is not among the files, by its path from the repository's root.
func (c *Content) leaveOut(p, format string, args ...any) {
	c.LeftOut = append(c.LeftOut, vendored.LeftOut{Path: c.fromRoot(p), Reason: fmt.Sprintf(format, args...)})
}

// submodules sets the URLs of the links, from the file at the root of the
// repository.
func (s *search) submodules(ctx context.Context) error {
	c := s.content
	if len(c.Links) == 0 {
		return nil
	}
	urls := map[string]string{}
	at, e, _, err := s.walk(ctx, ".gitmodules")
	if err != nil {
		return err
	}
	if at != missing && (e.mode == modeFile || e.mode == modeExec) {
		raw, err := s.reader.mirror.Object(ctx, e.id, "blob")
		if err != nil {
			return err
		}
		urls = references.Gitmodules(raw)
	}
	if !s.ask.Submodules {
		for _, l := range c.Links {
			url := cmp.Or(repourl.Shown(urls[l.Path]), "without a URL in .gitmodules")
			c.leaveOut(l.Path, "the submodule (%.300s) is left out, because the service does not ask for submodules; set git.submodules", url)
		}
		c.Links = nil
		return nil
	}
	for i, l := range c.Links {
		url := urls[l.Path]
		if url == "" {
			return errcode.New(errcode.Unprocessable, "submodule %q has no URL in .gitmodules; add it, or do not ask for submodules", l.Path)
		}
		if c.Links[i].URL, err = references.SubmoduleURL(s.ask.URL, url); err != nil {
			return fmt.Errorf("submodule %q: %w", l.Path, err)
		}
		c.Links[i].Path = c.fromRoot(l.Path)
	}
	return nil
}

// sign computes the key: the trees, and everything that changes their content
// without changing them.
func (c *Content) sign(format string) {
	h := sha256.New()
	fmt.Fprintf(h, "content 1\n%s\nlimits %d\nentry %q\n", format, tarball.LimitsVersion, c.Entry)
	for _, p := range slices.Sorted(maps.Keys(c.included)) {
		e := c.included[p]
		fmt.Fprintf(h, "%d %s %q\n", e.mode, e.id, c.fromRoot(p))
	}
	for _, l := range c.Links {
		fmt.Fprintf(h, "submodule %q %s %q\n", l.Path, l.Commit, l.URL)
	}
	if c.lfs {
		fmt.Fprintf(h, "lfs 1\n")
		for _, o := range c.outer {
			fmt.Fprintf(h, "attributes %s\n", o)
		}
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
