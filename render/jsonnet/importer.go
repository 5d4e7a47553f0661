package jsonnet

import (
	"fmt"
	"path"
	"strings"

	"github.com/google/go-jsonnet"

	"github.com/axle-cd/axle/internal/tree"
)

// importer finds files in the tree. Resolved names begin with a slash, the root of
// the tree, which distinguishes them from names to be looked up.
type importer struct {
	tree  *tree.Tree
	libs  []string
	cache map[string]jsonnet.Contents
	// refused is the last existing file that could not be read.
	refused error
}

// Import returns the file that a file imports.
func (i *importer) Import(from, name string) (jsonnet.Contents, string, error) {
	var places []string
	switch {
	case strings.HasPrefix(name, "/") && from == "":
		places = []string{name}
	case strings.HasPrefix(name, "/"):
		return jsonnet.Contents{}, "", fmt.Errorf("the import %q is outside the service's files; imports must stay inside them", name)
	default:
		places = append(places, path.Join("/", path.Dir(from), name))
		if climbs(path.Join(strings.TrimPrefix(path.Dir(from), "/"), name)) {
			return jsonnet.Contents{}, "", fmt.Errorf("the import %q is outside the service's files; imports must stay inside them", name)
		}
		for _, lib := range i.libs {
			if place := path.Join(lib, name); !climbs(place) {
				places = append(places, "/"+place)
			}
		}
	}
	for _, place := range places {
		if contents, ok := i.cache[place]; ok {
			return contents, place, nil
		}
		text, err := i.tree.Read(strings.TrimPrefix(place, "/"))
		if err != nil && !i.there(place) {
			continue
		}
		if err != nil {
			i.refused = err
			return jsonnet.Contents{}, "", err
		}
		contents := jsonnet.MakeContentsRaw(text)
		if i.cache == nil {
			i.cache = map[string]jsonnet.Contents{}
		}
		i.cache[place] = contents
		return contents, place, nil
	}
	return jsonnet.Contents{}, "", fmt.Errorf("the import %q does not exist at this revision; it was looked for beside the file that imports it and in the libraries", name)
}

// there reports whether a file exists, including one that cannot be read.
func (i *importer) there(place string) bool {
	name := strings.TrimPrefix(place, "/")
	if i.tree.IsFile(name) {
		return true
	}
	for _, known := range i.tree.Below(path.Dir(name)) {
		if known == name {
			return true
		}
	}
	return false
}

func climbs(clean string) bool { return clean == ".." || strings.HasPrefix(clean, "../") }
