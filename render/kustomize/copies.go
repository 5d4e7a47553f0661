package kustomize

import (
	"path"
	"strings"

	"github.com/axle-cd/axle/internal/tree"
	"github.com/axle-cd/axle/internal/vendored"
)

// copies looks up what the hub vendored. It uses the nearest map, in the folder or
// above, that knows the reference: the sources of a service are at different paths,
// each with its own map.
type copies struct {
	tree *tree.Tree
	maps map[string]vendored.Contents
}

// base finds the copy of a remote base.
func (c *copies) base(dir, reference string) (folder string, ok bool) {
	c.above(dir, func(at string, m vendored.Contents) bool {
		for _, b := range m.Bases {
			if b.Reference == reference {
				folder, ok = path.Join(at, b.Path), true
			}
		}
		return ok
	})
	return folder, ok
}

// chart finds the copy of a chart.
func (c *copies) chart(dir, repository, name, version string) (folder string, ok bool) {
	c.above(dir, func(at string, m vendored.Contents) bool {
		for _, ch := range m.Charts {
			if ch.Repository == repository && ch.Name == name && ch.Version == version {
				folder, ok = path.Join(at, ch.Path), true
			}
		}
		return ok
	})
	return folder, ok
}

// above passes the maps of a folder and those above it to take until one is accepted.
func (c *copies) above(dir string, take func(at string, m vendored.Contents) bool) {
	if c.maps == nil {
		c.maps = map[string]vendored.Contents{}
	}
	for at := path.Clean(dir); ; at = path.Dir(at) {
		m, known := c.maps[at]
		if !known {
			if text, err := c.tree.Read(path.Join(at, vendored.Map)); err == nil {
				// An unreadable map counts as empty; the reference is then rejected
				// with its position.
				m, _ = vendored.Decode(text)
			}
			c.maps[at] = m
		}
		if take(at, m) || at == "." || at == "/" {
			return
		}
	}
}

// relative is the path from one folder to another, both relative to the root.
func relative(from, to string) string {
	if from == "." {
		return to
	}
	up := strings.Split(path.Clean(from), "/")
	down := strings.Split(path.Clean(to), "/")
	for len(up) > 0 && len(down) > 0 && up[0] == down[0] {
		up, down = up[1:], down[1:]
	}
	way := strings.Repeat("../", len(up)) + strings.Join(down, "/")
	if way = strings.TrimSuffix(way, "/"); way == "" {
		return "."
	}
	return way
}
