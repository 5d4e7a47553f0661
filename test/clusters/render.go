package clusters

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Variables that have a place in every Cluster, whatever its template.
var placed = []string{"version", "controlPlaneCount", "nodePools", "podCIDRs", "serviceCIDRs"}

// Properties of a pool that have one, where the class has no variable of that name.
var placedOfPools = []string{"name", "class", "count", "minSize", "maxSize", "labels"}

const bounds = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-"

// complete returns value with the defaults of schema where it has nothing. Variables of which
// there is no default take the first example, for tests.
func complete(schema object, value any) any {
	if value == nil {
		if value = schema["default"]; value == nil {
			if examples := list(schema, "examples"); len(examples) > 0 {
				value = examples[0]
			}
		}
	}
	switch v := value.(type) {
	case object:
		v = maps.Clone(v)
		properties, _ := schema["properties"].(object)
		for name, property := range properties {
			if filled := complete(property.(object), v[name]); filled != nil {
				v[name] = filled
			}
		}
		return v
	case []any:
		items, ok := schema["items"].(object)
		if !ok {
			return v
		}
		filled := make([]any, len(v))
		for i, item := range v {
			filled[i] = complete(items, item)
		}
		return filled
	}
	return value
}

// cluster makes the Cluster of variables, which are complete and valid.
func (t *template) cluster(name, class string, variables object) object {
	topology := object{"classRef": object{"name": class}, "version": variables["version"]}
	if values := t.values(variables); len(values) > 0 { // Cluster API refuses an empty list
		topology["variables"] = values
	}
	if count, ok := variables["controlPlaneCount"]; ok {
		topology["controlPlane"] = object{"replicas": count}
	}
	workers := object{}
	for _, p := range list(variables, "nodePools") {
		field, pool := t.pool(p.(object))
		workers[field] = append(list(workers, field), pool)
	}
	if len(workers) > 0 {
		topology["workers"] = workers
	}
	spec := object{"topology": topology}
	network := object{}
	for field, variable := range map[string]string{"pods": "podCIDRs", "services": "serviceCIDRs"} {
		if blocks, ok := variables[variable]; ok {
			network[field] = object{"cidrBlocks": blocks}
		}
	}
	if len(network) > 0 {
		spec["clusterNetwork"] = network
	}
	return object{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": object{"name": name}, "spec": spec}
}

// values are the variables that the class has, in the order of their names.
func (t *template) values(from object) []any {
	values := []any{}
	for _, name := range slices.Sorted(maps.Keys(from)) {
		if t.variable(name) != nil {
			values = append(values, object{"name": name, "value": from[name]})
		}
	}
	return values
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

// pool makes the entry of one node pool, and returns the list that it belongs to. A property
// is an override of the variable of its name; others have the meaning that Cluster API has for them.
func (t *template) pool(p object) (string, object) {
	field, class := t.workers(p["class"])
	made := object{"name": p["name"], "class": class}
	if overrides := t.values(p); len(overrides) > 0 {
		made["variables"] = object{"overrides": overrides}
	}
	metadata := object{}
	if labels, ok := p["labels"].(object); ok && len(labels) > 0 && t.variable("labels") == nil {
		metadata["labels"] = labels
	}
	if p["minSize"] != nil && t.variable("minSize") == nil {
		metadata["annotations"] = object{bounds + "min-size": whole(p["minSize"]), bounds + "max-size": whole(p["maxSize"])}
	} else if p["count"] != nil {
		made["replicas"] = p["count"]
	}
	if len(metadata) > 0 {
		made["metadata"] = metadata
	}
	return field, made
}

// workers finds the class of a pool; nil is the first one.
func (t *template) workers(class any) (field string, name any) {
	for _, field := range []string{"machineDeployments", "machinePools"} {
		for _, w := range list(t.class().Object, "spec", "workers", field) {
			if class == nil || at(w, "class") == class {
				return field, at(w, "class")
			}
		}
	}
	return "machineDeployments", class
}

func whole(number any) string {
	text, _ := json.Marshal(number)
	return strings.Trim(string(text), `"`)
}

// variants are the variables that a template is judged with: its defaults, and these with each
// value of each enum and each bool, at the top and in a pool.
func (t *template) variants() map[string]object {
	base := complete(t.schema, object{}).(object)
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
		found["pool "+label] = complete(t.schema, v).(object)
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

func index(segment string) (int, bool) {
	n, err := strconv.Atoi(segment)
	return n, err == nil
}
