package clustertopology

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// Object is a JSON object.
type Object = map[string]any

// Variables are those that have a place in every Cluster. All others are variables of the ClusterClass.
var Variables = []string{"version", "controlPlaneCount", "nodePools", "podCIDRs", "serviceCIDRs"}

// OfPools are the properties of a node pool that have a place, where the ClusterClass has no variable of
// that name.
var OfPools = []string{"name", "class", "count", "minSize", "maxSize", "labels"}

// Bounds is the prefix of the annotations that the cluster autoscaler reads: min-size and max-size.
const Bounds = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-"

// Spec makes the spec of a Cluster. classSpec is the spec of the ClusterClass, and name its name
// on the management cluster. variables are valid and have their defaults.
func Spec(classSpec Object, name string, variables Object) Object {
	c := class{spec: classSpec, takes: map[string]bool{}}
	for _, v := range items(classSpec["variables"]) {
		if name, ok := v["name"].(string); ok {
			c.takes[name] = true
		}
	}
	topology := Object{"classRef": Object{"name": name}, "version": variables["version"]}
	if values := c.values(variables); len(values) > 0 { // Cluster API refuses an empty list
		topology["variables"] = values
	}
	if count, ok := variables["controlPlaneCount"]; ok {
		topology["controlPlane"] = Object{"replicas": count}
	}
	workers := Object{}
	for _, p := range items(variables["nodePools"]) {
		field, pool := c.pool(p)
		list, _ := workers[field].([]any)
		workers[field] = append(list, pool)
	}
	if len(workers) > 0 {
		topology["workers"] = workers
	}
	spec := Object{"topology": topology}
	network := Object{}
	for field, variable := range map[string]string{"pods": "podCIDRs", "services": "serviceCIDRs"} {
		if blocks, ok := variables[variable]; ok {
			network[field] = Object{"cidrBlocks": blocks}
		}
	}
	if len(network) > 0 {
		spec["clusterNetwork"] = network
	}
	return spec
}

// class is a ClusterClass.
type class struct {
	spec  Object
	takes map[string]bool // its variables
}

// values are the variables that the class takes, in the order of their names.
func (c class) values(from Object) []any {
	var values []any
	for _, name := range slices.Sorted(maps.Keys(from)) {
		if c.takes[name] {
			values = append(values, Object{"name": name, "value": from[name]})
		}
	}
	return values
}

// pool makes the entry of one node pool, and returns the list that it belongs to.
func (c class) pool(p Object) (string, Object) {
	field, name := c.workers(p["class"])
	made := Object{"name": p["name"], "class": name}
	if overrides := c.values(p); len(overrides) > 0 {
		made["variables"] = Object{"overrides": overrides}
	}
	metadata := Object{}
	if labels, ok := p["labels"].(Object); ok && len(labels) > 0 && !c.takes["labels"] {
		metadata["labels"] = labels
	}
	if p["minSize"] != nil && !c.takes["minSize"] {
		metadata["annotations"] = Object{Bounds + "min-size": fmt.Sprint(p["minSize"]), Bounds + "max-size": fmt.Sprint(p["maxSize"])}
	} else if p["count"] != nil {
		made["replicas"] = p["count"]
	}
	if len(metadata) > 0 {
		made["metadata"] = metadata
	}
	return field, made
}

// workers finds where the ClusterClass has the class of a pool; without one it is the first.
func (c class) workers(wanted any) (field string, name any) {
	workers, _ := c.spec["workers"].(Object)
	for _, field := range []string{"machineDeployments", "machinePools"} {
		for _, w := range items(workers[field]) {
			if wanted == nil || w["class"] == wanted {
				return field, w["class"]
			}
		}
	}
	return "machineDeployments", wanted // Cluster API refuses it by its name
}

// Machines counts those that variables ask for: of a pool with bounds the most, of one without
// a number one, as Cluster API does.
func Machines(variables Object) int {
	count := func(value any, otherwise float64) float64 {
		if n, ok := value.(float64); ok {
			return max(0, n)
		}
		return otherwise
	}
	all := count(variables["controlPlaneCount"], 0)
	for _, p := range items(variables["nodePools"]) {
		all += count(p["maxSize"], count(p["count"], 1))
	}
	return int(min(all, math.MaxInt32))
}

// Complete returns a value with the defaults of its schema where it has nothing, in objects and in
// the items of lists as well.
func Complete(schema Object, value any) any {
	if value == nil {
		value = schema["default"]
	}
	switch v := value.(type) {
	case Object:
		filled := maps.Clone(v)
		properties, _ := schema["properties"].(Object)
		for name, property := range properties {
			of, _ := property.(Object)
			if inner := Complete(of, v[name]); inner != nil {
				filled[name] = inner
			}
		}
		return filled
	case []any:
		of, ok := schema["items"].(Object)
		if !ok {
			return v
		}
		filled := make([]any, len(v))
		for i, item := range v {
			filled[i] = Complete(of, item)
		}
		return filled
	}
	return value
}

// items are the objects of a list.
func items(list any) []Object {
	values, _ := list.([]any)
	var objects []Object
	for _, v := range values {
		if o, ok := v.(Object); ok {
			objects = append(objects, o)
		}
	}
	return objects
}
