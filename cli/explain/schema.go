package explain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/api/kinds"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/deploy"
	"github.com/axle-cd/axle/internal/errcode"
)

// version is that of both groups.
const version = "v1alpha1"

// schema is what a definition says about a field.
type schema struct {
	Type        string             `json:"type"`
	Description string             `json:"description"`
	Enum        []any              `json:"enum"`
	Pattern     string             `json:"pattern"`
	Default     any                `json:"default"`
	Required    []string           `json:"required"`
	Properties  map[string]*schema `json:"properties"`
	Items       *schema            `json:"items"`
	Values      *schema            `json:"additionalProperties"`
	Either      bool               `json:"x-kubernetes-int-or-string"`
}

// inside is what a list or a map holds, or the field itself.
func (s *schema) inside() *schema {
	switch {
	case s.Items != nil:
		return s.Items.inside()
	case s.Values != nil:
		return s.Values.inside()
	}
	return s
}

// named is the type as people read it.
func (s *schema) named() string {
	switch {
	case s.Items != nil:
		return "[]" + s.Items.named()
	case s.Values != nil:
		return "map[string]" + s.Values.named()
	case s.Either:
		return "integer or string"
	case s.Type == "":
		return "any"
	}
	return s.Type
}

// definition is that of a kind: as the command reads it, and as it is written.
type definition struct {
	kind kinds.Kind
	root *schema
	raw  map[string]any
}

// find returns the definition of a kind, whatever the case of its name. Of two with one name,
// it is the one that acts.
func find(name string) (*definition, error) {
	named := func(k kinds.Kind) bool { return strings.EqualFold(k.Name, name) }
	i := slices.IndexFunc(kinds.All, func(k kinds.Kind) bool { return named(k) && k.Level == kinds.Full })
	if i < 0 {
		i = slices.IndexFunc(kinds.All, named)
	}
	if i < 0 {
		return nil, exitcode.Usagef("%.80q is not a kind; axle explain lists them", name)
	}
	return define(kinds.All[i])
}

// define reads the definition of a kind.
func define(k kinds.Kind) (*definition, error) {
	files, err := fs.Glob(deploy.CRDs, "crds/"+k.Group+"_*.yaml")
	if err != nil {
		return nil, errcode.New(errcode.Internal, "%w", err)
	}
	for _, file := range files {
		text, err := fs.ReadFile(deploy.CRDs, file)
		if err != nil || !bytes.Contains(text, []byte("\n    kind: "+k.Name+"\n")) {
			continue
		}
		var crd struct {
			Spec struct {
				Versions []struct {
					Schema struct {
						Root json.RawMessage `json:"openAPIV3Schema"`
					} `json:"schema"`
				} `json:"versions"`
			} `json:"spec"`
		}
		d := &definition{kind: k, root: &schema{}}
		if err := yaml.Unmarshal(text, &crd); err != nil || len(crd.Spec.Versions) == 0 {
			return nil, errcode.New(errcode.Internal, "the definition of %s cannot be read: %v", k.Name, err)
		}
		root := crd.Spec.Versions[0].Schema.Root
		if err := json.Unmarshal(root, d.root); err != nil {
			return nil, errcode.New(errcode.Internal, "the definition of %s cannot be read: %w", k.Name, err)
		}
		if err := json.Unmarshal(root, &d.raw); err != nil {
			return nil, errcode.New(errcode.Internal, "the definition of %s cannot be read: %w", k.Name, err)
		}
		return d, nil
	}
	return nil, errcode.New(errcode.Internal, "the definition of %s is not built in", k.Name)
}

const draft = "http://json-schema.org/draft-07/schema#"

// schema is the JSON schema of the kind's manifests. Nobody writes a status.
func (d *definition) schema() map[string]any {
	out := plain(d.raw).(map[string]any)
	properties := out["properties"].(map[string]any)
	delete(properties, "status")
	properties["apiVersion"] = map[string]any{"const": d.kind.Group + "/" + version}
	properties["kind"] = map[string]any{"const": d.kind.Name}
	properties["metadata"] = map[string]any{
		"type": "object", "required": []string{"name"},
		"properties": map[string]any{"name": map[string]any{"type": "string"}, "namespace": map[string]any{"type": "string"}},
	}
	out["$schema"], out["title"], out["description"] = draft, d.kind.Name, text(d.kind)
	out["required"] = []string{"apiVersion", "kind", "metadata"}
	return out
}

// plain is a schema of Kubernetes as one that every editor reads: without extensions, and
// with unknown fields refused where an API server reports them.
func plain(value any) any {
	switch v := value.(type) {
	case []any:
		out := make([]any, 0, len(v))
		for _, one := range v {
			out = append(out, plain(one))
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for key, one := range v {
			fields, inside := one.(map[string]any)
			switch {
			case key == "default" || key == "enum":
				out[key] = one
			case key == "properties" && inside:
				out[key] = each(fields)
			case !strings.HasPrefix(key, "x-kubernetes-") && key != "nullable":
				out[key] = plain(one)
			}
		}
		if v["x-kubernetes-int-or-string"] == true {
			delete(out, "anyOf")
			out["type"] = []string{"integer", "string"}
		}
		if kind, ok := out["type"].(string); ok && v["nullable"] == true {
			out["type"] = []string{kind, "null"}
		}
		_, fields := v["properties"].(map[string]any)
		_, open := v["additionalProperties"]
		if fields && v["type"] == "object" && !open && v["x-kubernetes-preserve-unknown-fields"] != true {
			out["additionalProperties"] = false
		}
		return out
	}
	return value
}

// each are the schemas of fields, whose names mean nothing here.
func each(fields map[string]any) map[string]any {
	out := map[string]any{}
	for name, one := range fields {
		out[name] = plain(one)
	}
	return out
}

// writeSchemas prints one schema for the manifests of all kinds that axle apply knows.
func writeSchemas(a *command.App) error {
	var all []any
	for _, k := range kinds.All {
		if k.Level != kinds.Full || k.Cluster {
			continue
		}
		d, err := define(k)
		if err != nil {
			return err
		}
		one := d.schema()
		maps.DeleteFunc(one, func(key string, _ any) bool { return key == "$schema" })
		// An editor finds the kind first, and reports the mistakes of that one.
		all = append(all, map[string]any{
			"if":   map[string]any{"required": []string{"kind"}, "properties": map[string]any{"kind": map[string]any{"const": k.Name}}},
			"then": one,
		})
	}
	return encode(a, map[string]any{"$schema": draft, "title": "Manifests of Axle", "type": "object", "allOf": all})
}

// encode prints a schema as JSON, whatever the format of other output.
func encode(a *command.App, schema any) error {
	text, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		return errcode.New(errcode.Internal, "%w", err)
	}
	_, err = fmt.Fprintf(a.Out, "%s\n", text)
	return err
}
