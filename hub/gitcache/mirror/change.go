package mirror

import (
	"context"
	"path"
)

// Change is the difference between two trees.
type Change struct {
	everything bool
	// paths differ; the value is true when everything below differs, because
	// the path was added, removed, or changed its type.
	paths map[string]bool
}

// maxChange limits how many paths are distinguished; beyond it, everything
// counts as changed.
const maxChange = 50_000

// Diff compares two root trees. It reads only what differs.
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

// Touches reports whether any of the paths, anything below it, or a parent
// folder's entry on the way to it differs.
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
