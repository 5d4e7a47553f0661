package health

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
)

// FromObjects turns objects of kind CustomHealth into rules, in the order of their
// namespaces and names. An unusable one is left out, with an error under its
// namespace/name; the others still apply. Expressions are accepted unchecked: only
// the render child can tell whether they compile.
func FromObjects(objects []v1alpha1.CustomHealth) (list []Custom, problems map[string]error) {
	problems = map[string]error{}
	objects = slices.SortedFunc(slices.Values(objects), func(a, b v1alpha1.CustomHealth) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, o := range objects {
		name, spec := strings.TrimPrefix(o.Namespace+"/"+o.Name, "/"), o.Spec
		if spec.Kind == "" && (spec.Group != "" || spec.Version != "") {
			problems[name] = errcode.New(errcode.Invalid,
				"CustomHealth %s has a group or version, but no kind; name the kind, or leave all three out", name)
			continue
		}
		rule, err := ruleOf(name, spec)
		if err != nil {
			problems[name] = err
			continue
		}
		kind := schema.GroupVersionKind{Group: spec.Group, Version: spec.Version, Kind: spec.Kind}
		list = append(list, Custom{Name: name, Kind: kind, Rule: rule})
	}
	return list, problems
}

func ruleOf(name string, spec v1alpha1.CustomHealthSpec) (Judge, error) {
	switch e := spec.Expressions; {
	case e == nil && spec.Script == "":
		return nil, errcode.New(errcode.Invalid, "CustomHealth %s has neither a script nor expressions; give one of them", name)
	case e == nil:
		return CompileLua(name, spec.Script)
	case spec.Script != "":
		return nil, errcode.New(errcode.Invalid, "CustomHealth %s has both a script and expressions; give only one of them", name)
	case e.Current == "":
		return nil, errcode.New(errcode.Invalid, "CustomHealth %s has no expression current, so no object could be Healthy; give one", name)
	default:
		return &Expressions{Name: name, Suspended: e.Suspended, InProgress: e.InProgress, Failed: e.Failed, Current: e.Current, Message: e.Message}, nil
	}
}
