package kustomize

import (
	"bytes"
	"encoding/json"
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
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Request is one kustomization to build.
type Request struct {
	Tree *tree.Tree
	// Dir holds the kustomization file.
	Dir string
	// Liquid renders *.liquid files before the build; nil uses them unrendered.
	Liquid *liquid.Engine
	// Variables, if not nil, replace ${NAME} in the built objects.
	Variables map[string]string
	// EnableHelm allows a kustomization to inflate charts, with Inflate.
	EnableHelm bool
	// Inflate renders a chart in the tree.
	Inflate func(Chart) ([]manifest.Object, error)
	// rendered are objects that the kustomization changes; nil means none.
	rendered []byte
}

// root is the position of the tree in the library's file system.
const root = "/files"

// Render builds the kustomization. Charts that it inflates and its templates may
// generate values: then it is built twice, and differing values are marked.
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
		// otherwise namespaces first and webhooks last.
		options.Reorder = krusty.ReorderOptionUnspecified
	}
	// The tree limits what can be loaded: there is nothing else.
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
	return objects, append(check.warnings, warnings...), check.generates || r.Liquid != nil && r.Liquid.Generated(), err
}

// decode converts the built resources to objects. It converts the library's nodes
// directly, without text in between, and releases each resource when it is done, so
// that a bundle of large CRDs is in memory only once.
func (r Request) decode(built resmap.ResMap, source string) (objects []manifest.Object, warnings []string, err error) {
	for _, resource := range built.Resources() {
		id := resource.CurId()
		data, err := valueOf(resource.YNode())
		if err != nil {
			return nil, nil, &manifest.Error{File: source, Message: fmt.Sprintf("%s cannot be encoded: %v", id, err)}
		}
		resource.RNode = yaml.RNode{}
		found, more, err := manifest.Objects(source, data)
		if err != nil {
			var bad *manifest.Error
			if errors.As(err, &bad) {
				bad.Message = fmt.Sprintf("%s as built: %s", id, bad.Message)
			}
			return nil, nil, err
		}
		warnings = append(warnings, more...)
		for i := range found {
			if r.Variables == nil || unsubstituted(found[i].Data) {
				continue
			}
			replace := substitution{variables: r.Variables}
			if found[i].Data, err = replace.apply(found[i].Data); err != nil {
				return nil, nil, &manifest.Error{File: source, Message: fmt.Sprintf("%s: %v", id, err)}
			}
		}
		objects = append(objects, found...)
	}
	return objects, warnings, nil
}

// valueOf is what kustomize build would write for a node, as decoded from JSON.
func valueOf(node *yaml.Node) (any, error) {
	var value map[string]any
	if err := node.Decode(&value); err != nil {
		return nil, err
	}
	return numbers(value)
}

// numbers converts numbers, and values that exist only in YAML, to what decoding JSON
// gives here.
func numbers(value any) (any, error) {
	var err error
	switch v := value.(type) {
	case nil, string, bool:
		return v, nil
	case map[string]any:
		for key, inner := range v {
			if v[key], err = numbers(inner); err != nil {
				return nil, err
			}
		}
		return v, nil
	case []any:
		for i, inner := range v {
			if v[i], err = numbers(inner); err != nil {
				return nil, err
			}
		}
		return v, nil
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var out any
	err = decoder.Decode(&out)
	return out, err
}

var (
	inMemoryPath = regexp.MustCompile(regexp.QuoteMeta(root) + `/?`)
	yamlLine     = regexp.MustCompile(`yaml: line (\d+)`)
	yamlFile     = regexp.MustCompile(`(?:file |from |in |')['"]?([\w./-]+\.(?:ya?ml|json))`)
)

// explain shortens the library's error and extracts file and line.
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
