package kustomize

import (
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/axle-cd/axle/internal/liquid"
	"github.com/axle-cd/axle/internal/manifest"
	"github.com/axle-cd/axle/internal/tree"
)

// suffix marks templates: NAME.liquid appears as NAME, and replaces a file of that
// name.
const suffix = ".liquid"

// source is the tree for a build, with its templates rendered. A template is rendered
// when it is first read, so that one which the build does not need cannot fail it.
type source struct {
	tree *tree.Tree
	// liquid is nil if the service is not templated.
	liquid   *liquid.Engine
	rendered map[string][]byte
	// failed is the error of the first template that could not be rendered: the
	// library's errors lose the position.
	failed error
}

func newSource(t *tree.Tree, engine *liquid.Engine) *source {
	return &source{tree: t, liquid: engine, rendered: map[string][]byte{}}
}

func (s *source) template(name string) bool { return s.liquid != nil && s.tree.IsFile(name+suffix) }

// Read returns a file's text.
func (s *source) Read(name string) ([]byte, error) {
	name = path.Clean(name)
	if !s.template(name) {
		return s.tree.Read(name)
	}
	if text, ok := s.rendered[name]; ok {
		return text, nil
	}
	text, err := s.tree.Read(name + suffix)
	if err == nil {
		text, err = s.liquid.Render(text)
	}
	var bad *liquid.Error
	if errors.As(err, &bad) {
		err = &manifest.Error{File: name + suffix, Line: bad.Line, Message: bad.Message}
	}
	if err != nil {
		if s.failed == nil {
			s.failed = err
		}
		return nil, err
	}
	s.rendered[name] = text
	return text, nil
}

// IsFile reports whether there is a file, or a template for it.
func (s *source) IsFile(name string) bool { return s.tree.IsFile(name) || s.template(path.Clean(name)) }

// IsDir reports whether any file is below the folder.
func (s *source) IsDir(name string) bool { return s.tree.IsDir(name) }

// Below returns the files below a folder, sorted, templates under the names of their
// results.
func (s *source) Below(dir string) []string {
	names := s.tree.Below(dir)
	if s.liquid == nil || !slices.ContainsFunc(names, func(n string) bool { return strings.HasSuffix(n, suffix) }) {
		return names
	}
	names = slices.Clone(names)
	for i, name := range names {
		names[i] = strings.TrimSuffix(name, suffix)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// HasKustomization reports whether a folder holds a kustomization or, if the service
// is templated, a template of one.
func HasKustomization(t *tree.Tree, dir string, templated bool) bool {
	return slices.ContainsFunc(Names, func(name string) bool {
		file := path.Join(dir, name)
		return t.IsFile(file) || templated && t.IsFile(file+suffix)
	})
}
