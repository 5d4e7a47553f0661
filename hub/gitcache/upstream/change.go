package upstream

import (
	"context"
	"path"
)

// Change is what differs between two trees.
type Change struct {
	everything bool
	// paths differ; true when all below does, because the place was added,
	// removed, or is something else now.
	paths map[string]bool
}

// maxChange bounds how many paths are told apart; beyond it, everything has
// changed.
const maxChange = 50_000

// Diff compares two root trees. It reads what differs, and nothing else.
func (r *Reader) Diff(ctx context.Context, before, after string) (*Change, error) {
	c := &Change{paths: map[string]bool{}}
	return c, c.compare(ctx, r.trees, "", before, after, 0)
}

func (c *Change) compare(ctx context.Context, t *trees, dir, before, after string, depth int) error {
	if before == after || c.everything {
		return nil
	}
	if depth > maxDepth || len(c.paths) > maxChange {
		c.everything = true
		return nil
	}
	c.paths[dir] = c.paths[dir] || before == "" || after == ""
	old, err := t.read(ctx, before, true)
	if err != nil {
		return err
	}
	now, err := t.read(ctx, after, true)
	if err != nil {
		return err
	}
	was := make(map[string]treeEntry, len(old))
	for _, e := range old {
		was[e.name] = e
	}
	for _, e := range now {
		o, ok := was[e.name]
		delete(was, e.name)
		switch p := path.Join(dir, e.name); {
		case ok && o == e:
		case ok && o.mode == modeTree && e.mode == modeTree:
			if err := c.compare(ctx, t, p, o.id, e.id, depth+1); err != nil {
				return err
			}
		default:
			c.paths[p] = true
		}
	}
	for name := range was {
		c.paths[path.Join(dir, name)] = true
	}
	return nil
}

// Touches reports whether any of the paths, something below it, or the way to
// it is different.
func (c *Change) Touches(paths []string) bool {
	if c.everything {
		return true
	}
	for _, p := range paths {
		if _, ok := c.paths[p]; ok {
			return true
		}
		for dir := p; dir != "" && dir != "."; {
			if dir = path.Dir(dir); c.paths[dir] {
				return true
			}
		}
	}
	return false
}
