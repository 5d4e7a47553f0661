// Package raw renders plain manifests: the YAML and JSON files of a folder and
// of all folders below it, in the order of their paths.
//
// Files ending in .yaml.liquid, .yml.liquid and .json.liquid are templates if the service
// is templated; other templates are left out with a warning. Hidden files and folders are
// left out. Charts and kustomizations inside the folder are left out with
// a warning, because they need their own renderer. So are documents that are not
// manifests, with a warning unless the file's name says that it serves another
// purpose. If two documents describe one object, the first counts. The render child
// calls the package; it reads nothing but the tree it is given.
package raw

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/axle-cd/axle/internal/liquid"
	"github.com/axle-cd/axle/internal/manifest"
	"github.com/axle-cd/axle/internal/tree"
)

// Request is one folder to render.
type Request struct {
	Tree *tree.Tree
	Dir  string
	// Except are folders below Dir that another renderer handles.
	Except []string
	// Namespace is the namespace of objects that name none.
	Namespace string
	// Liquid renders *.liquid files; nil uses them unrendered.
	Liquid *liquid.Engine
}

// Render returns the folder's objects. If templates generate values, it renders twice
// and marks values that differ.
func Render(r Request) (objects []manifest.Object, warnings []string, err error) {
	objects, warnings, err = r.render()
	if err != nil || r.Liquid == nil || !r.Liquid.Generated() {
		return objects, warnings, err
	}
	again, _, err := r.render()
	if err != nil {
		return nil, nil, err
	}
	return objects, warnings, manifest.MarkVolatile(objects, again)
}

func (r Request) render() (objects []manifest.Object, warnings []string, err error) {
	seen := map[manifest.Key]string{}
	for _, file := range r.Tree.Below(r.Dir) {
		take, warning := r.wants(file)
		if warning != "" && !slices.Contains(warnings, warning) {
			warnings = append(warnings, warning)
		}
		if !take {
			continue
		}
		found, more, err := r.file(file)
		if err != nil {
			return nil, nil, err
		}
		warnings = append(warnings, more...)
		for _, object := range found {
			key := object.Key(r.Namespace)
			place := fmt.Sprintf("%s:%d", file, object.Line)
			if first, twice := seen[key]; twice && !key.Generated() {
				warnings = append(warnings, fmt.Sprintf("%s: %s is also in %s; the first counts", place, key, first))
				continue
			}
			seen[key] = place
			objects = append(objects, object)
		}
	}
	return objects, warnings, nil
}

// wants decides by name whether a file is a manifest.
func (r Request) wants(file string) (take bool, warning string) {
	rel := strings.TrimPrefix(file, below(r.Dir))
	for part := range strings.SplitSeq(rel, "/") {
		if strings.HasPrefix(part, ".") {
			return false, ""
		}
	}
	unnamed := false
	switch kind := path.Ext(strings.TrimSuffix(rel, ".liquid")); {
	case kind == ".yaml", kind == ".yml", kind == ".json":
	case kind == "" && strings.HasSuffix(rel, ".liquid"):
		unnamed = true
	default:
		return false, ""
	}
	for _, dir := range r.Except {
		// A renderer for Dir itself or a folder above adds to this one.
		if strings.HasPrefix(file, dir+"/") && strings.HasPrefix(dir+"/", below(r.Dir)) && path.Clean(dir) != path.Clean(r.Dir) {
			return false, ""
		}
	}
	if dir := r.chartAbove(rel); dir != "" {
		return false, manifest.LeftOut("%s: the folder is a Helm chart; give it a HELM renderer", dir)
	}
	if unnamed {
		return false, file + ": left out, because its name does not show that it makes manifests; a template of manifests is named NAME.yaml.liquid"
	}
	name := path.Base(rel)
	if r.Liquid != nil {
		name = strings.TrimSuffix(name, ".liquid")
	}
	switch name {
	case "kustomization.yaml", "kustomization.yml":
		return false, manifest.LeftOut("%s: a kustomization inside raw manifests; give its folder a KUSTOMIZE renderer", file)
	}
	return true, ""
}

// data matches files beside manifests that are not manifests: values of charts, and
// JSON.
var data = regexp.MustCompile(`(?i)(^|[-_.])values([-_.].*)?\.ya?ml(\.liquid)?$|\.json(\.liquid)?$`)

// below is the prefix of all paths inside a folder.
func below(dir string) string {
	if dir = path.Clean(dir); dir == "." {
		return ""
	}
	return dir + "/"
}

// chartAbove returns the outermost folder between Dir and the file that is a chart,
// and "" if there is none.
func (r Request) chartAbove(rel string) string {
	parts := strings.Split(rel, "/")
	for i := 1; i < len(parts); i++ {
		dir := path.Join(r.Dir, path.Join(parts[:i]...))
		if r.Tree.IsFile(path.Join(dir, "Chart.yaml")) {
			return dir
		}
	}
	return ""
}

// file reads, templates and decodes one file.
func (r Request) file(name string) ([]manifest.Object, []string, error) {
	text, err := r.Tree.Read(name)
	if err != nil {
		return nil, nil, err
	}
	templated := r.Liquid != nil && strings.HasSuffix(name, ".liquid")
	if templated {
		if text, err = r.Liquid.Render(text); err != nil {
			var bad *liquid.Error
			if errors.As(err, &bad) {
				return nil, nil, &manifest.Error{File: name, Line: bad.Line, Message: bad.Message}
			}
			return nil, nil, err
		}
	}
	objects, warnings, err := manifest.Decode(name, text)
	if data.MatchString(path.Base(name)) {
		warnings = manifest.NoManifests(warnings)
	}
	var bad *manifest.Error
	if templated && errors.As(err, &bad) {
		bad.Message += " (the line is that of the rendered text)"
	}
	return objects, warnings, err
}
