package clusterapi

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/manifest"
	"github.com/axle-cd/axle/internal/rule"
)

// hashLength is how much of an object's hash is in its name.
const hashLength = 10

// classOf returns the objects of the folder class, in order of file.
func classOf(files map[string]string) ([]object, error) {
	var all []object
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if ext := path.Ext(name); path.Dir(name) != classFolder || ext != ".yaml" && ext != ".yml" {
			continue
		}
		decoded, _, err := manifest.Decode(name, []byte(files[name]))
		if err != nil {
			return nil, errcode.New(errcode.Unprocessable, "%w", err)
		}
		for _, d := range decoded {
			o, err := newObject(name, d)
			if err != nil {
				return nil, err
			}
			if key := o.groupKind() + " " + o.name; seen[key] {
				return nil, wrong(name, "metadata.name", "there is another %s", key)
			} else {
				seen[key] = true
			}
			if all = append(all, o); len(all) > maxObjects {
				return nil, wrong(classFolder, "", "has more than %d objects", maxObjects)
			}
		}
	}
	return all, nil
}

// newObject checks what an object says about itself.
func newObject(file string, d manifest.Object) (object, error) {
	key := d.Key("")
	o := object{Object: d, kind: key.Kind, name: key.Name}
	metadata, _ := d.Data["metadata"].(map[string]any)
	switch {
	case !rule.Label.Valid(o.name) || len(o.name) > longestName:
		return o, wrong(file, "metadata.name", "%.80q is not valid: use up to %d lower-case letters, digits and dashes, to which the hub adds a hash", o.name, longestName)
	case key.Namespace != "":
		return o, wrong(file, "metadata.namespace", "%s %s names a namespace; leave it out: each cluster has one of its own", o.kind, o.name)
	case d.Data["status"] != nil:
		return o, wrong(file, "status", "is not declared; leave it out")
	}
	for field := range metadata {
		if !slices.Contains([]string{"name", "labels", "annotations"}, field) {
			return o, wrong(file, "metadata."+field, "%s %s has this field, which an object of a template has not", o.kind, o.name)
		}
	}
	annotations, _ := metadata["annotations"].(map[string]any)
	for name := range annotations {
		if domain, _, _ := strings.Cut(name, "/"); slices.ContainsFunc(agentDomains, func(d string) bool { return domain == d || strings.HasSuffix(domain, "."+d) }) {
			return o, wrong(file, "metadata.annotations", "%s %s has %s, which changes how agents apply and delete it; leave it out", o.kind, o.name, name)
		}
	}
	return o, nil
}

// agentDomains are those of the annotations that agents obey.
var agentDomains = []string{"axle-cd.github.io", "plural.sh", "argoproj.io", "helm.sh"}

// placesValues requires that patches of a ClusterClass place values of variables: a template
// of text would put one into the text of another, and a program is none of the folder's. An
// element of a list is placed only where Cluster API takes that.
func placesValues(class object) error {
	spec, _ := class.Data["spec"].(map[string]any)
	for _, p := range list(spec["patches"]) {
		for _, field := range []string{"enabledIf", "external"} {
			if p[field] != nil {
				return wrong(class.Source, "spec.patches", "%v has %s, which a template may not use: place variables by valueFrom.variable", p["name"], field)
			}
		}
		for _, d := range list(p["definitions"]) {
			for _, change := range list(d["jsonPatches"]) {
				if from, _ := change["valueFrom"].(map[string]any); from["template"] != nil {
					return wrong(class.Source, "spec.patches", "%v has valueFrom.template at %v, which would put a value into a text: use valueFrom.variable", p["name"], change["path"])
				}
				if op, _ := change["op"].(string); !takesIndex(op, change["path"]) {
					return wrong(class.Source, "spec.patches", "%v has %s at %v: within a list, Cluster API takes an add only at its first element (0) or its end (-); an add replaces a field that is there", p["name"], op, change["path"])
				}
			}
		}
	}
	return nil
}

// takesIndex reports whether the webhook of ClusterClasses takes a path: without numbers, or in
// an add with the number 0 alone.
func takesIndex(op string, pointer any) bool {
	text, _ := pointer.(string)
	for part := range strings.SplitSeq(text, "/") {
		if index, err := strconv.Atoi(part); err == nil && (op != "add" || index != 0) {
			return false
		}
	}
	return true
}

// list are the objects of a list.
func list(value any) []map[string]any {
	var objects []map[string]any
	items, _ := value.([]any)
	for _, item := range items {
		if o, ok := item.(map[string]any); ok {
			objects = append(objects, o)
		}
	}
	return objects
}

// nameByContent gives each object a name that ends with a hash of its content, in which the
// objects that it refers to have such names already: another content is another object.
func nameByContent(objects []object) error {
	n := &naming{objects: objects, at: map[string]int{}, kinds: map[string]bool{}, state: make([]int, len(objects))}
	for i, o := range objects {
		n.at[o.groupKind()+" "+o.name], n.kinds[o.groupKind()] = i, true
	}
	for i := range objects {
		if err := n.name(i); err != nil {
			return err
		}
	}
	return nil
}

// naming is how far the names of a folder's objects are.
type naming struct {
	objects []object
	// at finds an object by its kind and the name that the folder gives it.
	at    map[string]int
	kinds map[string]bool
	state []int
}

// The states of an object while names are given.
const (
	unnamed = iota
	beingNamed
	named
)

func (n *naming) name(i int) error {
	o := &n.objects[i]
	if n.state[i] == named {
		return nil
	}
	if n.state[i] == beingNamed {
		return wrong(o.Source, "", "%s %s refers to itself through others", o.kind, o.name)
	}
	n.state[i] = beingNamed
	for field, value := range o.Data {
		if err := n.refer(o, field, value); err != nil {
			return err
		}
	}
	text, err := json.Marshal(o.Data)
	if err != nil {
		return wrong(o.Source, "", "%v", err)
	}
	sum := sha256.Sum256(text)
	metadata, _ := o.Data["metadata"].(map[string]any)
	o.name += "-" + hex.EncodeToString(sum[:])[:hashLength]
	metadata["name"], n.state[i] = o.name, named
	return nil
}

// refer gives the references below a value the new names: objects with a kind of the
// folder, an apiVersion of its group and a name.
func (n *naming) refer(from *object, at string, value any) error {
	if list, ok := value.([]any); ok {
		var all []error
		for _, item := range list {
			all = append(all, n.refer(from, at+"[]", item))
		}
		return errors.Join(all...)
	}
	fields, ok := value.(map[string]any)
	if !ok {
		return nil
	}
	kind, name, reference := referred(fields)
	if reference && n.kinds[kind] {
		i, there := n.at[kind+" "+name]
		if !there {
			return wrong(from.Source, at, "%s %s refers to %s %s, which is not in %s", from.kind, from.name, kind, name, classFolder)
		}
		if err := n.name(i); err != nil {
			return err
		}
		fields["name"] = n.objects[i].name
	}
	for field, below := range fields {
		if err := n.refer(from, at+"."+field, below); err != nil {
			return err
		}
	}
	return nil
}

// referred returns what an object of a reference names.
func referred(fields map[string]any) (kind, name string, reference bool) {
	kind, hasKind := fields["kind"].(string)
	name, hasName := fields["name"].(string)
	version, hasVersion := fields["apiVersion"].(string)
	if group, _, grouped := strings.Cut(version, "/"); grouped {
		kind += "." + group
	}
	return kind, name, hasKind && hasName && hasVersion
}
