package kinds

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/api/kinds"
	"github.com/axle-cd/axle/deploy"
)

// definition is the part of a CRD that the pages and the tests read.
type definition struct {
	Spec struct {
		Group string
		Scope string
		Names struct {
			Kind, Plural string
			ShortNames   []string
			Categories   []string
		}
		Versions []struct {
			Name                     string
			Storage                  bool
			AdditionalPrinterColumns []struct{ Name, JSONPath string }
			Schema                   struct{ OpenAPIV3Schema *fieldSchema }
		}
	}

	file string
	text []byte
}

func (d *definition) kind() string       { return d.Spec.Names.Kind }
func (d *definition) root() *fieldSchema { return d.Spec.Versions[0].Schema.OpenAPIV3Schema }
func (d *definition) cluster() bool      { return d.Spec.Scope == "Cluster" }
func (d *definition) api() string        { return d.Spec.Group + "/" + d.Spec.Versions[0].Name }
func (d *definition) page() string       { return pageOf(d.row()) }
func (d *definition) row() kinds.Kind    { k, _ := kinds.Of(d.Spec.Group, d.kind()); return k }

// example returns the file of its example.
func (d *definition) example() string { return "examples/kinds/" + fileOf(d.row()) + ".yaml" }

// fileOf names the files of a kind. Another group has a Dashboard too.
func fileOf(k kinds.Kind) string {
	if k.Group == kinds.Platform {
		return "platform-" + strings.ToLower(k.Name)
	}
	return strings.ToLower(k.Name)
}

// pageOf returns the file of a kind's page. All schema-only kinds share one.
func pageOf(k kinds.Kind) string {
	if k.SchemaOnly {
		return "schema-only.md"
	}
	return fileOf(k) + ".md"
}

func (d *definition) columns() []string {
	var names []string
	for _, c := range d.Spec.Versions[0].AdditionalPrinterColumns {
		names = append(names, c.Name)
	}
	return names
}

// fieldSchema is the part of a structural schema that the pages and the tests read.
type fieldSchema struct {
	Type                 string                  `json:"type"`
	Format               string                  `json:"format"`
	Description          string                  `json:"description"`
	Properties           map[string]*fieldSchema `json:"properties"`
	AdditionalProperties *fieldSchema            `json:"additionalProperties"`
	Items                *fieldSchema            `json:"items"`
	Required             []string                `json:"required"`
	Enum                 []any                   `json:"enum"`
	Default              any                     `json:"default"`
	Pattern              string                  `json:"pattern"`
	Minimum              *float64                `json:"minimum"`
	Open                 bool                    `json:"x-kubernetes-preserve-unknown-fields"`
	Rules                []struct {
		Rule, Message string
	} `json:"x-kubernetes-validations"`
}

// sorted returns the names of an object's fields; a kind that nobody reports about has no status.
func (s *fieldSchema) sorted() []string {
	if s == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(s.Properties))
}

// walk calls visit for every field below s, with its path from there.
func (s *fieldSchema) walk(path string, visit func(path string, field *fieldSchema, required bool)) {
	for _, name := range s.sorted() {
		field, at := s.Properties[name], strings.TrimPrefix(path+"."+name, ".")
		visit(at, field, slices.Contains(s.Required, name))
		for inner := field; inner != nil; inner = inner.Items {
			if inner != field {
				at += "[]"
			}
			if inner.AdditionalProperties != nil {
				inner.AdditionalProperties.walk(at+".*", visit)
			}
			inner.walk(at, visit)
		}
	}
}

// fields returns all fields of a kind by path, except those of metadata.
func (d *definition) fields() map[string]*fieldSchema {
	all := map[string]*fieldSchema{}
	d.root().walk("", func(path string, field *fieldSchema, _ bool) { all[path] = field })
	return all
}

// readDefinitions returns all CRDs, sorted by kind.
func readDefinitions() ([]*definition, error) {
	entries, err := deploy.CRDs.ReadDir("crds")
	if err != nil {
		return nil, err
	}
	var all []*definition
	for _, e := range entries {
		text, err := deploy.CRDs.ReadFile("crds/" + e.Name())
		if err != nil {
			return nil, err
		}
		d := &definition{file: "deploy/crds/" + e.Name(), text: text}
		if err := yaml.Unmarshal(text, d); err != nil {
			return nil, fmt.Errorf("%s: %w", d.file, err)
		}
		if len(d.Spec.Versions) != 1 || d.root() == nil {
			return nil, fmt.Errorf("%s has %d versions, want one with a schema", d.file, len(d.Spec.Versions))
		}
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b *definition) int { return strings.Compare(a.kind(), b.kind()) })
	return all, nil
}
