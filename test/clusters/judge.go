package clusters

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/axle-cd/axle/internal/clustercheck"
	"github.com/axle-cd/axle/internal/clustertopology"
)

// static is what can be said of a template without an API server.
func (t *template) static(ctx context.Context) error {
	_, unplaced := t.places()
	return errors.Join(t.kinds(), t.order(), t.patches(), t.variables(), t.valid(), t.checks(ctx), unplaced)
}

// kinds compares the list of kinds with the objects of the folder and the Cluster.
func (t *template) kinds() error {
	made := []string{"Cluster.cluster.x-k8s.io"}
	for _, o := range t.objects {
		made = append(made, o.GetKind()+"."+o.GroupVersionKind().Group)
	}
	slices.Sort(made)
	if made = slices.Compact(made); !slices.Equal(made, slices.Sorted(slices.Values(t.Kinds))) {
		return fmt.Errorf("kinds are %v, and the folder makes %v", t.Kinds, made)
	}
	return nil
}

// order wants nothing in the folder that changes when agents apply or delete it: the hub puts the Cluster
// behind all of it, because its machines are deleted by what is in them.
func (t *template) order() error {
	var failed []error
	for _, o := range t.objects {
		if len(o.GetAnnotations()) > 0 || o.GetNamespace() != "" {
			failed = append(failed, fmt.Errorf("%s %s has a namespace or annotations %v, by which agents could delete it before the cluster", o.GetKind(), o.GetName(), o.GetAnnotations()))
		}
	}
	return errors.Join(failed...)
}

// patches wants values from variables only: a text template would put one into the text of another.
func (t *template) patches() error {
	used := map[string]bool{}
	var failed []error
	fail := func(format string, args ...any) { failed = append(failed, fmt.Errorf(format, args...)) }
	places, _ := t.places()
	for _, p := range list(t.class().Object, "spec", "patches") {
		if at(p, "enabledIf") != nil || at(p, "external") != nil {
			fail("patch %v is made by a text template or by a program", at(p, "name"))
		}
	}
	for _, d := range t.definitions() {
		if !slices.ContainsFunc(places, d.selects) {
			fail("patch %s selects no template that the class uses: %v", d.patch, d.selector)
		}
		for _, c := range d.changes {
			if at(c, "valueFrom", "template") != nil {
				fail("patch %s: %v is made by a text template", d.patch, at(c, "path"))
			}
			name, from := at(c, "valueFrom", "variable").(string)
			if from && t.variable(name) == nil {
				fail("patch %s: the class has no variable %s", d.patch, name)
			}
			used[name] = true
		}
	}
	for _, v := range list(t.class().Object, "spec", "variables") {
		if name, _ := at(v, "name").(string); !used[name] {
			fail("no patch places the variable %s", name)
		}
	}
	return errors.Join(failed...)
}

// variables compares schema.json with what becomes of its properties.
func (t *template) variables() error {
	var failed []error
	fail := func(format string, args ...any) { failed = append(failed, fmt.Errorf(format, args...)) }
	top, _ := t.schema["properties"].(object)
	pool, _ := at(top, "nodePools", "items", "properties").(object)
	if _, ok := top["version"]; !ok {
		fail("schema.json has no version")
	}
	compare := func(properties object, reserved []string) {
		for name, property := range properties {
			v := t.variable(name)
			if v == nil {
				if !slices.Contains(reserved, name) {
					fail("schema.json has %s, of which nothing is made: the class has no such variable", name)
				}
				continue
			}
			for _, word := range []string{"type", "default", "enum", "minimum", "maximum"} {
				mine, theirs := plain(at(property, word)), plain(at(v, "schema", "openAPIV3Schema", word))
				if word == "enum" {
					mine, theirs = sorted(mine), sorted(theirs)
				}
				if !reflect.DeepEqual(mine, theirs) {
					fail("%s: %s is %v in schema.json, and %v in the class", name, word, mine, theirs)
				}
			}
		}
	}
	compare(top, clustertopology.Variables)
	compare(pool, clustertopology.OfPools)
	for _, v := range list(t.class().Object, "spec", "variables") {
		name, _ := at(v, "name").(string)
		if top[name] == nil && pool[name] == nil {
			fail("the class has the variable %s, which schema.json does not", name)
		}
	}
	return errors.Join(failed...)
}

func plain(value any) any {
	text, _ := json.Marshal(value)
	var out any
	_ = json.Unmarshal(text, &out)
	return out
}

func sorted(value any) any {
	values, ok := value.([]any)
	if !ok {
		return value
	}
	values = slices.Clone(values)
	slices.SortFunc(values, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return values
}

// valid compiles schema.json, and validates each variant.
func (t *template) valid() error {
	if t.schema["$schema"] != "https://json-schema.org/draft/2020-12/schema" || t.schema["additionalProperties"] != false {
		return errors.New("schema.json is not of draft 2020-12, or takes unknown variables")
	}
	schema, err := t.compile()
	if err != nil {
		return err
	}
	var failed []error
	for label, variables := range t.variants() {
		if strings.HasPrefix(label, "pool labels") {
			continue // each template has patterns of its own for the names of labels
		}
		if err := schema.Validate(plain(variables)); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", label, err))
		}
	}
	unknown := maps.Clone(t.variants()["defaults"])
	unknown["unknown"] = "x"
	if schema.Validate(plain(unknown)) == nil {
		failed = append(failed, errors.New("schema.json takes a variable that it does not have"))
	}
	return errors.Join(failed...)
}

func (t *template) compile() (*jsonschema.Schema, error) {
	text, err := json.Marshal(t.schema)
	if err != nil {
		return nil, err
	}
	if bytes.Contains(text, []byte(`"$ref"`)) {
		return nil, errors.New("schema.json has a $ref")
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	if err := compiler.AddResource("schema.json", t.schema); err != nil {
		return nil, err
	}
	return compiler.Compile("schema.json")
}

// checks compiles the checks, and wants that variants pass those before a create.
func (t *template) checks(ctx context.Context) error {
	var failed []error
	for _, c := range t.Checks {
		if c.Name == "" || c.Message == "" || (c.When != "before" && c.When != "after") {
			failed = append(failed, fmt.Errorf("the check %q has no name, message, or moment", c.Name))
		}
		compiled, err := clustercheck.Compile(c.Expression)
		if err != nil {
			failed = append(failed, fmt.Errorf("check %s: %w", c.Name, err))
			continue
		}
		for label, variables := range t.variants() {
			for _, s := range moments(c.When) {
				holds, err := compiled.Holds(ctx, variables, s.status)
				if err != nil || holds != s.holds {
					failed = append(failed, fmt.Errorf("check %s of %s: %v, %w", c.Name, label, holds, err))
				}
			}
		}
	}
	return errors.Join(failed...)
}

type moment struct {
	status object
	holds  bool
}

// moments are the status of a Cluster at which a check is judged.
func moments(when string) []moment {
	if when == "before" {
		return []moment{{object{}, true}}
	}
	condition := func(status string) object {
		return object{"conditions": []any{object{"type": "Available", "status": status}}}
	}
	return []moment{{object{}, false}, {condition("False"), false}, {condition("True"), true}}
}
