package ignore

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/axle-cd/axle/internal/kubeobj"
)

// filler is the fill of one object.
type filler struct {
	// path is the one that is followed, and lost are those whose value in the cluster
	// could not be kept.
	path string
	lost []string
}

// Filled is the result of Fill.
type Filled struct {
	// Lost are the paths that have the value of Git although the cluster has another,
	// because an element that changed in Git equals none of the cluster's, or several.
	Lost []string
	// Same says that the cluster has everything that is to be applied.
	Same bool
}

// Fill sets the given paths of an object to be applied: to the live value while no
// manager other than ours owns the field, and to nothing once one does. Inside of a list
// or map that is owned as a whole it is always the live value, because whoever applies
// the whole applies all of it. Invalid: a path is not valid.
func Fill(desired, live map[string]any, managers []metav1.ManagedFieldsEntry, paths []string) (Filled, error) {
	own, byManager := ownersOf(managers)
	var all [][]step
	var fields []string
	for _, text := range paths {
		if strings.HasPrefix(text, managerPrefix) {
			continue
		}
		steps, err := parsePath(text)
		if err != nil {
			return Filled{}, err
		}
		all, fields = append(all, steps), append(fields, text)
	}
	bareWant, bareLive := runtime.DeepCopyJSON(desired), runtime.DeepCopyJSON(live)
	for _, steps := range all {
		strip(bareWant, steps)
		strip(bareLive, steps)
	}
	var f filler
	for i, steps := range all {
		f.path = fields[i]
		f.follow(place{desired, live, bareWant, bareLive, own}, steps)
	}
	for _, text := range paths {
		if name, ok := strings.CutPrefix(text, managerPrefix); ok {
			for manager, trees := range byManager {
				if like(name, manager) {
					drop(desired, trees)
				}
			}
		}
	}
	return Filled{f.lost, within(desired, live)}, nil
}

// ownersOf are the owners of an object, and the fields of each other manager.
func ownersOf(managers []metav1.ManagedFieldsEntry) (own owners, byManager map[string][]any) {
	byManager = map[string][]any{}
	for _, e := range managers {
		var tree map[string]any
		if e.FieldsV1 == nil || json.Unmarshal(e.FieldsV1.GetRawBytes(), &tree) != nil || len(tree) == 0 {
			continue
		}
		if kubeobj.Ours(e) {
			own.ours = append(own.ours, tree)
			continue
		}
		own.others = append(own.others, tree)
		byManager[e.Manager] = append(byManager[e.Manager], tree)
	}
	return own, byManager
}

// follow goes a path from a map or a list.
func (f *filler) follow(p place, steps []step) {
	switch want := p.want.(type) {
	case map[string]any:
		for _, key := range steps[0].keysIn(want) {
			if isMark(key) {
				continue
			}
			inner := p.at(key)
			switch list, isList := inner.want.([]any); {
			case len(steps) == 1:
				fillField(want, key, inner)
			case isList && len(steps) == 2 && inner.own.set():
				putList(want, key, fillSet(list, inner, steps[1]))
			case isList && len(steps) == 2 && steps[1].everything() && (inner.own.inside || inner.own.whole()):
				fillField(want, key, inner)
			default:
				f.follow(inner, steps[1:])
			}
		}
	case []any:
		f.elements(p, want, steps)
	}
}

// elements goes on in the elements of a list that a step chooses.
func (f *filler) elements(p place, want []any, steps []step) {
	twins := p.pairs(slices.ContainsFunc(steps[1:], step.mayChoose))
	var alone []any
	for i, element := range want {
		switch j := twins[i]; {
		case !steps[0].chooses(element, i):
		case j < 0:
			alone = append(alone, element)
		case len(steps) > 1:
			f.follow(p.element(i, j), steps[1:])
		case isMap(element):
			fillAll(p.element(i, j), p.own.keys())
		default:
			want[i] = listOf(p.live)[j]
		}
	}
	if len(alone) == 0 || len(p.own.keys()) > 0 {
		return
	}
	var gone []any
	for j, element := range listOf(p.live) {
		if !slices.Contains(twins, j) {
			gone = append(gone, element)
		}
	}
	// An element that is only new, or only gone, lost nothing.
	if len(gone) > 0 && !alike(valuesAt(alone, steps), valuesAt(gone, steps)) && !slices.Contains(f.lost, f.path) {
		f.lost = append(f.lost, f.path)
	}
}

// alike reports whether the same values are in both, in any order.
func alike(a, b []any) bool {
	texts := func(all []any) (out []string) {
		for _, v := range all {
			out = append(out, fmt.Sprint(v))
		}
		slices.Sort(out)
		return out
	}
	return slices.Equal(texts(a), texts(b))
}

// fillField sets a field of a map in Git.
func fillField(want map[string]any, key string, p place) {
	_, has := want[key]
	list, livesList := p.live.([]any)
	switch {
	case p.live == nil:
		delete(want, key)
	case has && isMap(p.want) && isMap(p.live) && !p.own.inside && !p.own.whole():
		fillAll(p, nil)
	case livesList && !p.own.inside && !p.own.whole():
		if has || len(p.own.ours) > 0 {
			putList(want, key, p.own.keep(list))
		}
	case p.own.left():
		delete(want, key)
	case has || p.own.inside || len(p.own.ours) > 0:
		want[key] = p.live
	}
}

// putList sets a list. An empty one is left out: nothing in it is for us to apply.
func putList(want map[string]any, key string, list []any) {
	if want[key] = list; len(list) == 0 {
		delete(want, key)
	}
}

// keep returns the elements of a live keyed list or set without what others own.
func (o owners) keep(live []any) (all []any) {
	for _, element := range live {
		theirs := belowElement(o.others, element)
		switch ours := belowElement(o.ours, element); {
		case len(theirs) == 0:
			all = append(all, element)
		case len(ours) > 0 && isMap(element):
			element = runtime.DeepCopyJSONValue(element)
			drop(element, withoutKeys(theirs, o.keys()))
			all = append(all, element)
		}
	}
	return all
}

// fillAll fills everything in a map whose fields may have different owners, except those
// that identify it in its list.
func fillAll(p place, identity []string) {
	want, _ := p.want.(map[string]any)
	live, _ := p.live.(map[string]any)
	keys := slices.AppendSeq(slices.Collect(maps.Keys(want)), maps.Keys(live))
	for _, key := range keys {
		if !isMark(key) && !slices.Contains(identity, key) {
			fillField(want, key, p.at(key))
		}
	}
}

// fillSet leaves the presence of elements of a set to others.
func fillSet(want []any, p place, chosen step) []any {
	var all []any
	live := listOf(p.live)
	in := func(list []any, value any) bool {
		return slices.ContainsFunc(list, func(v any) bool { return same(v, value) })
	}
	for i, value := range want {
		if !chosen.chooses(value, i) || in(live, value) && len(belowElement(p.own.others, value)) == 0 {
			all = append(all, value)
		}
	}
	for _, value := range live {
		if chosen.everything() && !in(want, value) && len(belowElement(p.own.ours, value)) > 0 && len(belowElement(p.own.others, value)) == 0 {
			all = append(all, value)
		}
	}
	return all
}

// drop removes fields that another manager has set, and returns what is left.
func drop(desired any, trees []any) any {
	for _, tree := range trees {
		for name, inner := range fieldsOf(tree) {
			key, isField := strings.CutPrefix(name, "f:")
			switch d := desired.(type) {
			case map[string]any:
				if value, has := d[key]; !isField || !has || isMark(key) {
					continue
				} else if len(fieldsOf(inner)) == 0 {
					delete(d, key)
				} else if list, isList := drop(value, []any{inner}).([]any); isList {
					putList(d, key, list)
				}
			case []any:
				desired = dropElements(d, name, inner)
			}
		}
	}
	return desired
}

func dropElements(list []any, name string, inner any) []any {
	var kept []any
	for _, element := range list {
		if identifies(name, element) {
			key, keyed := elementKey(name)
			if !keyed {
				continue // of a set
			}
			drop(element, withoutKeys([]any{inner}, slices.Collect(maps.Keys(key))))
		}
		kept = append(kept, element)
	}
	return kept
}

// withoutKeys are an element's fields except those that identify it.
func withoutKeys(trees []any, keys []string) (all []any) {
	for _, tree := range trees {
		rest := maps.Clone(fieldsOf(tree))
		for _, key := range keys {
			delete(rest, "f:"+key)
		}
		all = append(all, rest)
	}
	return all
}

func isMark(key string) bool {
	return key == kubeobj.ManagedLabel || key == kubeobj.ServiceAnnotation || key == kubeobj.TrackingAnnotation
}
