package health

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
)

// FromObjects turns objects of the kind CustomHealth into rules, in the order
// of their namespaces and names. What cannot be used is left out and has an
// error under its namespace/name; the rest still counts.
func FromObjects(objects []v1alpha1.CustomHealth) (list []Custom, problems map[string]error) {
	problems = map[string]error{}
	objects = slices.SortedFunc(slices.Values(objects), func(a, b v1alpha1.CustomHealth) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, o := range objects {
		name, spec := o.Namespace+"/"+o.Name, o.Spec
		if spec.Kind == "" && (spec.Group != "" || spec.Version != "") {
			problems[name] = errcode.New(errcode.Invalid,
				"CustomHealth %s has a group or version, but no kind; name the kind, or leave all three out", name)
			continue
		}
		if spec.Script == "" {
			problems[name] = errcode.New(errcode.Invalid, "CustomHealth %s has no script", name)
			continue
		}
		script, err := CompileLua(name, spec.Script)
		if err != nil {
			problems[name] = err
			continue
		}
		kind := schema.GroupVersionKind{Group: spec.Group, Version: spec.Version, Kind: spec.Kind}
		list = append(list, Custom{Name: name, Kind: kind, Rule: script})
	}
	return list, problems
}
