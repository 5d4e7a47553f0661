package mirror

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/axle-cd/axle/hub/gitcache/references"
	"github.com/axle-cd/axle/internal/cost"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	attributesFile = ".gitattributes"
	lfsConfigFile  = ".lfsconfig"
)

// lfsConfig reads the configuration of git-lfs at the root of the repository. Like git-lfs it
// does not follow a link there out of the commit, nor one within.
func (s *search) lfsConfig(ctx context.Context) error {
	at, e, _, err := s.walk(ctx, lfsConfigFile)
	if err != nil || at == missing || e.mode != modeFile && e.mode != modeExec {
		return err
	}
	raw, err := s.reader.mirror.Object(ctx, e.id, "blob")
	if err != nil {
		return err
	}
	c := s.content
	if c.lfsConfig, err = references.ParseLFSConfig(raw); err != nil {
		return unreadable("", lfsConfigFile, err)
	}
	c.LFSURL = c.lfsConfig.URL
	c.outer = append(c.outer, e.id+" "+at)
	return nil
}

// attributes records the attribute files above the included paths: they change
// the content without changing its trees.
func (s *search) attributes(ctx context.Context) error {
	c := s.content
	seen := map[string]bool{}
	for p := range c.included {
		for _, dir := range above(p) {
			if seen[dir] {
				continue
			}
			seen[dir] = true
			at, e, _, err := s.walk(ctx, path.Join(dir, attributesFile))
			if err != nil {
				return err
			}
			if at != missing && e.mode != modeTree {
				c.outer = append(c.outer, e.id+" "+at)
			}
		}
	}
	slices.Sort(c.outer)
	return nil
}

// above returns the folders above a path, from the root down.
func above(p string) []string {
	if p == "" {
		return nil
	}
	out := []string{""}
	for i, r := range p {
		if r == '/' {
			out = append(out, p[:i])
		}
	}
	return out
}

// scopesAbove returns the scopes of the attribute files above an included path.
func (r *Reader) scopesAbove(ctx context.Context, c *Content, p string) (scopes []scope, err error) {
	for _, o := range c.outer {
		id, at, _ := strings.Cut(o, " ")
		if at == lfsConfigFile {
			continue
		}
		dir := path.Dir(at)
		if dir == "." {
			dir = ""
		}
		if !slices.Contains(above(p), dir) {
			continue
		}
		raw, err := r.mirror.Object(ctx, id, "blob")
		if err != nil {
			return nil, err
		}
		lines, err := references.ParseAttributes(raw)
		if err != nil {
			return nil, unreadable(dir, attributesFile, err)
		}
		scopes = append(scopes, scope{dir, lines})
	}
	slices.SortFunc(scopes, func(a, b scope) int { return len(a.dir) - len(b.dir) })
	return scopes, nil
}

// scopeOf adds the scope of a folder's attribute file.
func (l *lister) scopeOf(ctx context.Context, scopes []scope, dir string, entries []treeEntry) ([]scope, error) {
	for _, e := range entries {
		if e.name != attributesFile || e.mode != modeFile && e.mode != modeExec {
			continue
		}
		lines, ok := l.attributes[e.id]
		if !ok {
			raw, err := l.reader.mirror.Object(ctx, e.id, "blob")
			if err != nil {
				return nil, err
			}
			if lines, err = references.ParseAttributes(raw); err != nil {
				return nil, unreadable(dir, attributesFile, err)
			}
			if len(l.attributes) == maxListedAttributes {
				clear(l.attributes)
			}
			l.attributes[e.id] = lines
		}
		return append(slices.Clone(scopes), scope{dir, lines}), nil
	}
	return scopes, nil
}

// unreadable is the error of a file of a folder.
func unreadable(dir, file string, err error) error {
	return errcode.New(errcode.Unprocessable, "%.200q: %w", path.Join(dir, file), err)
}

// maxFilterSteps is what all patterns may take on all files of a content, about 20 s of
// one core. A large repository with a hundred patterns takes 1 s.
const maxFilterSteps = 400 * cost.Budget

// filtered reports whether a file, by its path from the repository's root, goes
// through LFS: the nearest matching attribute file decides, and then the .lfsconfig.
func (l *lister) filtered(scopes []scope, p string) (bool, error) {
	for _, s := range slices.Backward(scopes) {
		lfs, said, steps, err := s.lines.LFS(strings.TrimPrefix(strings.TrimPrefix(p, s.dir), "/"), maxFilterSteps-l.steps)
		if l.steps += steps; err != nil || l.steps > maxFilterSteps {
			return false, dear(path.Join(s.dir, attributesFile), p)
		}
		if !said {
			continue
		}
		if lfs {
			lfs, steps, err = l.content.lfsConfig.Fetches(p, maxFilterSteps-l.steps)
			if l.steps += steps; err != nil {
				return false, dear(lfsConfigFile, p)
			}
		}
		return lfs, nil
	}
	return false, nil
}

// dear is the error of patterns that take too long, at a file.
func dear(file, at string) error {
	return errcode.New(errcode.Unprocessable, "the patterns of %.200q take too long on the files of the folder (at %.200q); use fewer or simpler patterns", file, at)
}
