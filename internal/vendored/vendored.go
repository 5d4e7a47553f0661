// Package vendored is the map from references to other servers in a service's files
// to the copies among these files.
//
// The hub has network access: it writes the map and the copies when it makes a
// tarball. The renderers have none: they look references up in the map. So no file of
// the user is rewritten, and a tarball keeps its digest. The map is at Map below the
// root of the tarball; its paths are relative to that root. Folder holds nothing
// else.
package vendored

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"

	"sigs.k8s.io/yaml"
)

// The paths, relative to the root of the tarball.
const (
	// Folder holds the map and the copies. It is hidden: the raw renderer and
	// charts do not see it.
	Folder = ".axle"
	// Map is the map's file.
	Map = Folder + "/vendor.yaml"
	// Copies holds the copies, each in its own folder.
	Copies = Folder + "/vendor"
)

// version is the version of the map's format.
const version = 1

// Base is a kustomization in another repository.
type Base struct {
	Reference string `json:"reference"` // as written in a kustomization
	Path      string `json:"path"`
}

// Chart is a chart that a kustomization inflates.
type Chart struct {
	Repository string `json:"repository"`
	Name       string `json:"name"`
	Version    string `json:"version,omitempty"` // as written, possibly a range
	Path       string `json:"path"`              // path of the folder with Chart.yaml
}

// LeftOut is something of the repository that is not among the files, and why.
type LeftOut struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Contents is the content of the map.
type Contents struct {
	Version int       `json:"version"`
	Bases   []Base    `json:"bases,omitempty"`
	Charts  []Chart   `json:"charts,omitempty"`
	LeftOut []LeftOut `json:"leftOut,omitempty"`
}

// Encode encodes the map. Equal contents give equal bytes, whatever their order.
func Encode(c Contents) ([]byte, error) {
	c.Version, c.Bases, c.Charts = version, slices.Clone(c.Bases), slices.Clone(c.Charts)
	slices.SortFunc(c.Bases, func(a, b Base) int { return cmp.Compare(a.Reference, b.Reference) })
	slices.SortFunc(c.Charts, func(a, b Chart) int {
		return cmp.Or(cmp.Compare(a.Repository, b.Repository), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version))
	})
	c.LeftOut = slices.Clone(c.LeftOut)
	slices.SortFunc(c.LeftOut, func(a, b LeftOut) int { return cmp.Compare(a.Path, b.Path) })
	c.Bases, c.Charts, c.LeftOut = slices.Compact(c.Bases), slices.Compact(c.Charts), slices.Compact(c.LeftOut)
	return yaml.Marshal(c)
}

// Decode decodes a map. Paths outside the folder are rejected: the map may be a
// committed file.
func Decode(raw []byte) (Contents, error) {
	var c Contents
	if err := yaml.Unmarshal(raw, &c); err != nil {
		return Contents{}, fmt.Errorf("read %s: %w", Map, err)
	}
	if c.Version != version {
		return Contents{}, fmt.Errorf("%s has version %d, but this renderer supports %d; upgrade the agent", Map, c.Version, version)
	}
	for _, b := range c.Bases {
		if !fs.ValidPath(b.Path) {
			return Contents{}, fmt.Errorf("%s leads to %q, outside the files", Map, b.Path)
		}
	}
	for _, ch := range c.Charts {
		if !fs.ValidPath(ch.Path) {
			return Contents{}, fmt.Errorf("%s leads to %q, outside the files", Map, ch.Path)
		}
	}
	for _, l := range c.LeftOut {
		if !fs.ValidPath(l.Path) {
			return Contents{}, fmt.Errorf("%s leads to %q, outside the files", Map, l.Path)
		}
	}
	return c, nil
}
