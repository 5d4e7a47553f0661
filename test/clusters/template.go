package clusters

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"
)

type object = map[string]any

// template is a folder as deploy/clusters/README.md describes it.
type template struct {
	Name        string
	Description string
	Kinds       []string
	Checks      []check
	Provider    struct {
		Name     string
		Identity string
		Roles    []string
	}

	schema  object
	objects []*unstructured.Unstructured
}

// check is a CEL expression that holds before a cluster is created, or after.
type check struct{ Name, When, Expression, Message string }

// read reads a template. Files that the format does not have are an error, so that nothing
// lies in a folder that nobody looks at.
func read(folder fs.FS) (*template, error) {
	t := &template{}
	text, err := fs.ReadFile(folder, "template.yaml")
	if err != nil {
		return nil, err
	}
	if err := sigsyaml.UnmarshalStrict(text, t); err != nil {
		return nil, fmt.Errorf("template.yaml: %w", err)
	}
	if text, err = fs.ReadFile(folder, "schema.json"); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &t.schema); err != nil {
		return nil, fmt.Errorf("schema.json: %w", err)
	}
	return t, fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if path.Dir(name) == "class" && path.Ext(name) == ".yaml" {
			return t.add(folder, name)
		}
		if !slices.Contains([]string{"template.yaml", "schema.json", "README.md"}, name) {
			return fmt.Errorf("%s is no file of a template", name)
		}
		return nil
	})
}

func (t *template) add(folder fs.FS, name string) error {
	text, err := fs.ReadFile(folder, name)
	if err != nil {
		return err
	}
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		o := &unstructured.Unstructured{}
		if err := documents.Decode(&o.Object); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		t.objects = append(t.objects, o)
	}
}

// class returns the ClusterClass.
func (t *template) class() *unstructured.Unstructured {
	for _, o := range t.objects {
		if o.GetKind() == "ClusterClass" {
			return o
		}
	}
	return &unstructured.Unstructured{Object: object{}}
}

// find returns the object that ref, with apiVersion, kind and name, names.
func (t *template) find(ref object) *unstructured.Unstructured {
	for _, o := range t.objects {
		if o.GetAPIVersion() == ref["apiVersion"] && o.GetKind() == ref["kind"] && o.GetName() == ref["name"] {
			return o
		}
	}
	return nil
}

// at returns what lies in value under the names; nil where nothing does.
func at(value any, names ...string) any {
	for _, name := range names {
		m, _ := value.(object)
		value = m[name]
	}
	return value
}

func list(value any, names ...string) []any {
	l, _ := at(value, names...).([]any)
	return l
}
