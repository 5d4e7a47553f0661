package clusters

import (
	"fmt"
	"maps"

	"github.com/axle-cd/axle/internal/clustertopology"
)

// complete is the variables that a template has without any of a person: defaults, and the
// first example of each variable that has no default.
func (t *template) complete() object {
	given := object{}
	properties, _ := t.schema["properties"].(object)
	for name, property := range properties {
		if examples := list(property, "examples"); at(property, "default") == nil && len(examples) > 0 {
			given[name] = examples[0]
		}
	}
	return clustertopology.Complete(t.schema, given).(object)
}

// cluster makes the Cluster of variables, which are complete and valid.
func (t *template) cluster(name, class string, variables object) object {
	spec, _ := t.class().Object["spec"].(object)
	return object{
		"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": object{"name": name},
		"spec": clustertopology.Spec(spec, class, variables),
	}
}

// variable returns the variable of the class with that name, nil where it has none.
func (t *template) variable(name string) object {
	for _, v := range list(t.class().Object, "spec", "variables") {
		if at(v, "name") == name {
			return v.(object)
		}
	}
	return nil
}

// variants are the variables that a template is judged with: its defaults, and these with each
// value of each enum and each bool, at the top and in a pool.
func (t *template) variants() map[string]object {
	base := t.complete()
	found := map[string]object{"defaults": base}
	each(t.schema, func(name string, value any) {
		v := maps.Clone(base)
		v[name] = value
		found[fmt.Sprintf("%s=%v", name, value)] = v
	})
	pool, _ := at(t.schema, "properties", "nodePools", "items").(object)
	change := func(label string, set object) {
		first := maps.Clone(list(base, "nodePools")[0].(object))
		maps.Copy(first, set)
		v := maps.Clone(base)
		v["nodePools"] = []any{first, object{"name": "second"}}
		found["pool "+label] = clustertopology.Complete(t.schema, v).(object)
	}
	each(pool, func(name string, value any) { change(fmt.Sprintf("%s=%v", name, value), object{name: value}) })
	for _, effect := range list(pool, "properties", "taints", "items", "properties", "effect", "enum") {
		change(fmt.Sprintf("taint %v", effect), object{"taints": []any{object{"key": "example.com/own", "value": "yes", "effect": effect}}})
	}
	change("labels", object{"labels": object{"node-role.kubernetes.io/own": "yes"}})
	change("bounds", object{"minSize": 1.0, "maxSize": 5.0})
	return found
}

// each calls do with every value of the enums and bools of a schema's properties.
func each(schema object, do func(name string, value any)) {
	properties, _ := schema["properties"].(object)
	for name, property := range properties {
		values := list(property, "enum")
		if at(property, "type") == "boolean" {
			values = []any{false, true}
		}
		for _, value := range values {
			do(name, value)
		}
	}
}
