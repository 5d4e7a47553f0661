package kustomize

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/axle-cd/axle/internal/liquid"
	"github.com/axle-cd/axle/internal/manifest"
	"github.com/axle-cd/axle/internal/tree"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/openapi"
)

// Request is one kustomization to build.
type Request struct {
	Tree *tree.Tree
	// Dir holds the kustomization file.
	Dir string
	// Liquid renders *.liquid files before the build; nil takes them as they are.
	Liquid *liquid.Engine
	// Variables, when not nil, replace ${NAME} in the built objects.
	Variables map[string]string
	// EnableHelm lets a kustomization inflate charts, by Inflate.
	EnableHelm bool
	// Inflate renders a chart that lies in the tree.
	Inflate func(Chart) ([]manifest.Object, error)
	// rendered are objects that the kustomization changes; nil is none.
	rendered []byte
}

// root is where the tree stands in the library's file system.
const root = "/files"

// Render builds the kustomization. Charts that it inflates and its templates may
// generate values: then it is built twice, and what differs is marked.
func Render(r Request) (objects []manifest.Object, warnings []string, err error) {
	objects, warnings, generates, err := r.build()
	if err != nil || !generates {
		return objects, warnings, err
	}
	again, _, _, err := r.build()
	if err != nil {
		return nil, nil, err
	}
	return objects, warnings, manifest.MarkVolatile(objects, again)
}

// build builds it once and reports whether a chart in it generates values.
func (r Request) build() (objects []manifest.Object, warnings []string, generates bool, err error) {
	source := newSource(r.Tree, r.Liquid)
	check := checker{request: r, tree: source, copies: copies{tree: r.Tree}, seen: map[string]bool{}, texts: map[string][]byte{}, added: map[string][]byte{}}
	if err := check.folder(path.Clean(r.Dir), manifest.Error{File: r.Dir}); err != nil {
		return nil, nil, false, err
	}
	files := newFiles(source, check.added, check.texts)
	defaultSchema := openapi.GetSchemaVersion()
	defer func() {
		if check.schema || openapi.GetSchemaVersion() != defaultSchema {
			openapi.ResetOpenAPI()
		}
	}()
	options := krusty.MakeDefaultOptions()
	if r.rendered == nil {
		// The order of kustomize build: that of the kustomization's sortOptions,
		// else namespaces first and webhooks last.
		options.Reorder = krusty.ReorderOptionUnspecified
	}
	// The tree is the jail: what a kustomization may load is in it.
	options.LoadRestrictions = types.LoadRestrictionsNone
	options.PluginConfig = types.DisabledPluginConfig()
	built, err := krusty.MakeKustomizer(options).Run(files, path.Join(root, r.Dir))
	if source.failed != nil {
		return nil, nil, false, source.failed
	}
	if err != nil {
		return nil, nil, false, explain(check.file, err)
	}
	objects, warnings, err = r.decode(built, check.file)
	return objects, warnings, check.generates || r.Liquid != nil && r.Liquid.Generated(), err
}

// decode turns the built resources into objects.
func (r Request) decode(built resmap.ResMap, source string) (objects []manifest.Object, warnings []string, err error) {
	for _, resource := range built.Resources() {
		text, err := resource.AsYAML()
		if err != nil {
			return nil, nil, &manifest.Error{File: source, Message: fmt.Sprintf("%s cannot be encoded: %v", resource.CurId(), err)}
		}
		found, more, err := manifest.Decode(source, text)
		if err != nil {
			var bad *manifest.Error
			if errors.As(err, &bad) {
				bad.Message = fmt.Sprintf("%s as built: %s", resource.CurId(), bad.Message)
				// The line is one of the built text, which nobody has.
				bad.Line = 0
			}
			return nil, nil, err
		}
		warnings = append(warnings, more...)
		for i := range found {
			found[i].Line = 0
			if r.Variables == nil {
				continue
			}
			replace := substitution{variables: r.Variables}
			if found[i].Data, err = replace.apply(found[i].Data); err != nil {
				return nil, nil, &manifest.Error{File: source, Message: fmt.Sprintf("%s: %v", resource.CurId(), err)}
			}
		}
		objects = append(objects, found...)
	}
	return objects, warnings, nil
}

var (
	inMemoryPath = regexp.MustCompile(regexp.QuoteMeta(root) + `/?`)
	yamlLine     = regexp.MustCompile(`yaml: line (\d+)`)
	yamlFile     = regexp.MustCompile(`(?:file |from |in |')['"]?([\w./-]+\.(?:ya?ml|json))`)
)

// explain shortens the library's error and finds the file and line in it.
func explain(file string, err error) error {
	message := inMemoryPath.ReplaceAllString(err.Error(), "")
	bad := &manifest.Error{File: file, Message: "kustomize: " + strings.TrimSpace(message)}
	if found := yamlFile.FindStringSubmatch(message); found != nil {
		bad.File = found[1]
	}
	if found := yamlLine.FindStringSubmatch(message); found != nil {
		bad.Line, _ = strconv.Atoi(found[1])
	}
	return bad
}
