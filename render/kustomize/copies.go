package kustomize

import (
	"path"
	"strings"

	"github.com/axle-cd/axle/internal/tree"
	"github.com/axle-cd/axle/internal/vendored"
)

// copies looks up what the hub vendored. The map of the nearest folder above
// counts that has one and knows the reference: the sources of a service lie
// under paths, each with its own.
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

// above offers the maps of a folder and those above it until one is taken.
func (c *copies) above(dir string, take func(at string, m vendored.Contents) bool) {
	if c.maps == nil {
		c.maps = map[string]vendored.Contents{}
	}
	for at := path.Clean(dir); ; at = path.Dir(at) {
		m, known := c.maps[at]
		if !known {
			if text, err := c.tree.Read(path.Join(at, vendored.Map)); err == nil {
				// One that cannot be read knows nothing; the reference is then
				// refused where it stands.
				m, _ = vendored.Decode(text)
			}
			c.maps[at] = m
		}
		if take(at, m) || at == "." || at == "/" {
			return
		}
	}
}

// relative is the way from one folder to another, both from the root.
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
