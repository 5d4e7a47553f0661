package cue

import (
	"context"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/load"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/mod/modfile"
	"cuelang.org/go/mod/module"

	"github.com/axle-cd/axle/internal/manifest"
	"github.com/axle-cd/axle/internal/tree"
)

// sources are the CUE files of a folder that form a package.
func sources(files *tree.Tree, dir string) []string {
	var out []string
	for _, file := range files.Below(dir) {
		base := path.Base(file)
		if path.Dir(file) != path.Clean(dir) || path.Ext(base) != ".cue" || strings.HasPrefix(base, "_") || strings.HasPrefix(base, ".") ||
			strings.HasSuffix(base, "_tool.cue") || strings.HasSuffix(base, "_test.cue") {
			continue
		}
		out = append(out, file)
	}
	return out
}

// load finds the package and sets the values of its tags.
func (r Request) load() (*build.Instance, error) {
	name, args, err := r.pick()
	if err != nil {
		return nil, err
	}
	configured := r.configured()
	for {
		instance, err := r.instance(name, args, configured)
		if err == nil {
			return instance, nil
		}
		// The attribute may belong to another package: the library reports it.
		missing := noTag.FindStringSubmatch(err.Error())
		if missing == nil {
			return nil, err
		}
		if _, ok := configured[missing[1]]; !ok {
			return nil, err
		}
		delete(configured, missing[1])
	}
}

var (
	noTag   = regexp.MustCompile(`no tag for "([^"]*)"`)
	tagName = regexp.MustCompile(`@tag\(\s*"?([^",)\s]+)`)
)

// instance loads the package once.
func (r Request) instance(name string, args []string, configured map[string]string) (*build.Instance, error) {
	var tags []string
	attributes := r.attributes()
	for _, values := range []map[string]string{configured, r.Tags} {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if values[key] == "" && !attributes[key] {
				tags = append(tags, key)
				continue
			}
			tags = append(tags, key+"="+values[key])
		}
	}
	instances := load.Instances(args, &load.Config{
		FS: r.Tree.FS(), Dir: path.Join("/", r.Dir), Package: name, Tags: tags,
		Registry: nowhere{}, Env: []string{}, AcceptLegacyModules: true,
	})
	if len(instances) != 1 {
		return nil, &manifest.Error{File: r.Dir, Message: fmt.Sprintf("the folder holds %d packages; name one by cue.package of the renderer", len(instances))}
	}
	if err := instances[0].Err; err != nil {
		return nil, r.explain(err)
	}
	return instances[0], nil
}

// configured are the configuration values that an attribute names. The renderer's own
// values override them.
func (r Request) configured() map[string]string {
	out := map[string]string{}
	for key := range r.attributes() {
		value, ok := r.Configuration[key]
		if _, own := r.Tags[key]; ok && !own {
			out[key] = value
		}
	}
	return out
}

// attributes are the names of @tag attributes in the files that may belong to the
// package: those of the folder and of the folders above it.
func (r Request) attributes() map[string]bool {
	out := map[string]bool{}
	for at := path.Clean(r.Dir); ; at = path.Dir(at) {
		for _, file := range sources(r.Tree, at) {
			text, err := r.Tree.Read(file)
			if err != nil {
				continue
			}
			for _, found := range tagName.FindAllSubmatch(text, -1) {
				out[string(found[1])] = true
			}
		}
		if at == "." || at == "/" {
			return out
		}
	}
}

// pick finds the one package of the folder. Files without a package clause are loaded
// by name.
func (r Request) pick() (name string, args []string, err error) {
	files := sources(r.Tree, r.Dir)
	if len(files) == 0 {
		return "", nil, &manifest.Error{File: r.Dir, Message: "the folder has no *.cue file"}
	}
	var loose []string
	packages := map[string]bool{}
	for _, file := range files {
		text, err := r.Tree.Read(file)
		if err != nil {
			return "", nil, err
		}
		parsed, err := parser.ParseFile("/"+file, text)
		if err != nil {
			return "", nil, r.explain(err)
		}
		if clause := packageOf(parsed); clause != "" {
			packages[clause] = true
		} else {
			loose = append(loose, "./"+path.Base(file))
		}
	}
	switch names := slices.Sorted(maps.Keys(packages)); {
	case r.Package != "" && !packages[r.Package]:
		return "", nil, &manifest.Error{File: r.Dir, Message: fmt.Sprintf("the folder has no package %q, only %q", r.Package, names)}
	case r.Package != "":
		return r.Package, []string{"."}, nil
	case len(names) > 1:
		return "", nil, &manifest.Error{File: r.Dir, Message: fmt.Sprintf("the folder holds the packages %s; name one by cue.package of the renderer", strings.Join(names, ", "))}
	case len(names) == 1:
		return names[0], []string{"."}, nil
	}
	return "", loose, nil
}

func packageOf(f *ast.File) string {
	if f.PackageName() == "_" {
		return ""
	}
	return f.PackageName()
}

// nowhere is a registry that fetches nothing.
type nowhere struct{}

func (nowhere) fail(m module.Version) error {
	return fmt.Errorf("the module %s is not among the service's files, and rendering has no network; vendor it below cue.mod", m)
}

// ModFile fails.
func (n nowhere) ModFile(_ context.Context, m module.Version) (*modfile.File, error) {
	return nil, n.fail(m)
}

// Fetch fails.
func (n nowhere) Fetch(_ context.Context, m module.Version) (module.SourceLoc, error) {
	return module.SourceLoc{}, n.fail(m)
}

// ModuleVersions returns none.
func (nowhere) ModuleVersions(context.Context, string) ([]string, error) { return nil, nil }
