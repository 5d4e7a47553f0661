package clusters

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// place is where a class uses a template: what its patches select by.
type place struct {
	object *unstructured.Unstructured
	kind   string // infrastructureCluster, controlPlane, machineDeploymentClass or machinePoolClass
	class  any    // of workers
}

// places are all references of the class, and an error for each that leads nowhere.
func (t *template) places() ([]place, error) {
	var found []place
	var failed []error
	add := func(from any, kind string, class any, names ...string) {
		ref, _ := at(from, append(names, "templateRef")...).(object)
		if ref == nil {
			return
		}
		o := t.find(ref)
		if o == nil {
			failed = append(failed, fmt.Errorf("the class refers to %v %v, which the folder does not have", ref["kind"], ref["name"]))
			return
		}
		found = append(found, place{o, kind, class})
	}
	spec := t.class().Object["spec"]
	add(spec, "infrastructureCluster", nil, "infrastructure")
	add(spec, "controlPlane", nil, "controlPlane")
	add(spec, "controlPlane", nil, "controlPlane", "machineInfrastructure")
	for field, kind := range map[string]string{"machineDeployments": "machineDeploymentClass", "machinePools": "machinePoolClass"} {
		for _, w := range list(spec, "workers", field) {
			add(w, kind, at(w, "class"), "bootstrap")
			add(w, kind, at(w, "class"), "infrastructure")
		}
	}
	for _, o := range t.objects {
		if o.GetKind() != "ClusterClass" && !slices.ContainsFunc(found, func(p place) bool { return p.object == o }) {
			failed = append(failed, fmt.Errorf("%s %s is in the folder, and the class does not refer to it", o.GetKind(), o.GetName()))
		}
	}
	return found, errors.Join(failed...)
}

// definition is one entry of a patch: what it selects, and what it does to it.
type definition struct {
	patch    string
	selector object
	changes  []any
}

func (t *template) definitions() []definition {
	var found []definition
	for _, p := range list(t.class().Object, "spec", "patches") {
		name, _ := at(p, "name").(string)
		for _, d := range list(p, "definitions") {
			selector, _ := at(d, "selector").(object)
			found = append(found, definition{name, selector, list(d, "jsonPatches")})
		}
	}
	return found
}

func (d definition) selects(p place) bool {
	if d.selector["apiVersion"] != p.object.GetAPIVersion() || d.selector["kind"] != p.object.GetKind() {
		return false
	}
	match, _ := d.selector["matchResources"].(object)
	if p.class == nil {
		return match[p.kind] == true
	}
	return slices.Contains(list(match, p.kind, "names"), p.class)
}

// patched is the template of p as Cluster API makes it from variables: the JSON patches of the
// class, by the library that Cluster API uses.
func (t *template) patched(p place, variables object) (*unstructured.Unstructured, error) {
	text, err := json.Marshal(p.object.Object)
	if err != nil {
		return nil, err
	}
	for _, d := range t.definitions() {
		if !d.selects(p) {
			continue
		}
		for _, c := range d.changes {
			change := maps.Clone(c.(object))
			if name, ok := at(change, "valueFrom", "variable").(string); ok {
				value, ok := variables[name]
				if !ok {
					return nil, fmt.Errorf("patch %s: %v wants the variable %s, which has no value", d.patch, change["path"], name)
				}
				change["value"] = value
			}
			delete(change, "valueFrom")
			one, err := json.Marshal([]any{change})
			if err != nil {
				return nil, err
			}
			patch, err := jsonpatch.DecodePatch(one)
			if err != nil {
				return nil, fmt.Errorf("patch %s: %w", d.patch, err)
			}
			if text, err = patch.Apply(text); err != nil {
				return nil, fmt.Errorf("patch %s: %v %v: %w", d.patch, change["op"], change["path"], err)
			}
		}
	}
	o := &unstructured.Unstructured{}
	return o, json.Unmarshal(text, &o.Object)
}

// field looks a JSON pointer up in the schema of a definition.
func field(schema any, pointer string) error {
	for _, segment := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		if at(schema, "x-kubernetes-preserve-unknown-fields") == true && at(schema, "properties", segment) == nil {
			return nil
		}
		_, notNumber := strconv.Atoi(segment)
		switch {
		case at(schema, "properties", segment) != nil:
			schema = at(schema, "properties", segment)
		case (notNumber == nil || segment == "-") && at(schema, "items") != nil:
			schema = at(schema, "items")
		case at(schema, "additionalProperties") != nil:
			schema = at(schema, "additionalProperties")
		default:
			return fmt.Errorf("%s: there is no field %q", pointer, segment)
		}
	}
	return nil
}
