package apply

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/internal/kubeobj"
)

// Fields that are left to others cannot just be left out of what is applied:
// the API server deletes a field that we owned alone and do not send any more
// (twelve replicas become one). So the live value is sent, until another
// manager owns the field too; then it is left out.

const replicasPath = "/spec/replicas"

// bodyFor is what is applied to an object that exists.
func (w *writer) bodyFor(ctx context.Context, it *item) ([]byte, error) {
	paths, scaled := w.leftToOthers(it)
	if len(paths) == 0 && !scaled {
		return it.body, nil
	}
	var live map[string]any
	err := w.client.raw(ctx, path(it.kind, it.ref.Namespace, it.ref.Name), nil, &live)
	if apierrors.IsNotFound(err) {
		return it.body, nil
	}
	if err != nil {
		return nil, err
	}
	managers := (&unstructured.Unstructured{Object: live}).GetManagedFields()
	if scaled && (w.engine.aims(w.service.ID, it.ref) || scaledByOthers(managers)) {
		paths = append(paths, replicasPath)
	}
	if len(paths) == 0 {
		return it.body, nil
	}
	var desired map[string]any
	if err := json.Unmarshal(it.body, &desired); err != nil {
		return nil, err
	}
	if err := fill(desired, live, managers, paths); err != nil {
		return nil, &refusal{message: fmt.Sprintf("apply %s: %v", it.ref, err)}
	}
	// What was read must still be so when it is written.
	if meta, ok := desired["metadata"].(map[string]any); ok {
		meta["resourceVersion"] = (&unstructured.Unstructured{Object: live}).GetResourceVersion()
	}
	return json.Marshal(desired)
}

// leftToOthers lists the ignored paths of an object, and whether somebody else
// may scale it.
func (w *writer) leftToOthers(it *item) (paths []string, scaled bool) {
	var head struct {
		Metadata struct{ Annotations map[string]string }
	}
	if bytes.Contains(it.body, []byte("-fields")) {
		_ = json.Unmarshal(it.body, &head)
	}
	paths = w.service.ignored(it.ref, head.Metadata.Annotations)
	if !bytes.Contains(it.body, []byte(`"replicas"`)) {
		return paths, false
	}
	live, found, synced := w.engine.cfg.Live.Lookup(it.kind, it.ref)
	return paths, !synced || found && live.Print.Scaled || w.engine.aims(w.service.ID, it.ref)
}

// scaledByOthers reports whether the last to scale was a program: what a person
// scaled is put back by the next revision.
func scaledByOthers(all []metav1.ManagedFieldsEntry) bool {
	return slices.ContainsFunc(all, func(e metav1.ManagedFieldsEntry) bool {
		return e.Subresource == "scale" && !kubeobj.Human(e.Manager) && e.FieldsV1 != nil && bytes.Contains(e.FieldsV1.GetRawBytes(), []byte(`"f:replicas"`))
	})
}

// aims reports whether an autoscaler of the service aims at an object.
func (e *Engine) aims(service string, ref kubeobj.Ref) bool {
	e.mu.RLock()
	defer e.mu.RUnlock()
	t := e.services[service]
	return t != nil && t.targets[ref]
}

// targetsOf are the objects that the autoscalers of a plan aim at.
func targetsOf(p *plan) map[kubeobj.Ref]bool {
	var all map[kubeobj.Ref]bool
	for _, it := range p.items {
		if it.ref.Kind != "HorizontalPodAutoscaler" && it.ref.Kind != "ScaledObject" {
			continue
		}
		var scaler struct {
			Spec struct {
				ScaleTargetRef struct{ APIVersion, Kind, Name string }
			}
		}
		if json.Unmarshal(it.body, &scaler) != nil {
			continue
		}
		aim := scaler.Spec.ScaleTargetRef
		if aim.Kind == "" {
			aim.Kind, aim.APIVersion = "Deployment", "apps/v1"
		}
		group, _, _ := strings.Cut(aim.APIVersion, "/")
		if !strings.Contains(aim.APIVersion, "/") {
			group = ""
		}
		if all == nil {
			all = map[kubeobj.Ref]bool{}
		}
		all[kubeobj.Ref{Group: group, Kind: aim.Kind, Namespace: it.ref.Namespace, Name: aim.Name}] = true
	}
	return all
}

// owners are the sets of fields that managers have at one place of an object,
// as their JSON is.
type owners struct {
	ours   []any
	others []any
}

// fill puts live values into an object about to be applied, at the given paths.
func fill(desired, live map[string]any, managers []metav1.ManagedFieldsEntry, paths []string) error {
	var own owners
	byManager := map[string][]any{}
	for _, e := range managers {
		var tree map[string]any
		if e.FieldsV1 == nil || json.Unmarshal(e.FieldsV1.GetRawBytes(), &tree) != nil {
			continue
		}
		if e.Manager == kubeobj.FieldManager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == "" {
			own.ours = append(own.ours, tree)
			continue
		}
		own.others = append(own.others, tree)
		byManager[e.Manager] = append(byManager[e.Manager], tree)
	}
	for _, text := range paths {
		if name, ok := strings.CutPrefix(text, managerPrefix); ok {
			for manager, trees := range byManager {
				if like(name, manager) {
					drop(desired, live, trees)
				}
			}
			continue
		}
		steps, err := parsePath(text)
		if err != nil {
			return err
		}
		fillAt(desired, live, own, steps)
	}
	return nil
}

// fillAt follows a path from a map or a list.
func fillAt(desired, live any, own owners, steps []step) {
	if len(steps) == 0 {
		return
	}
	switch d := desired.(type) {
	case map[string]any:
		l, _ := live.(map[string]any)
		keys := []string{steps[0].key}
		if steps[0].all {
			keys = keysOf(d)
		}
		for _, key := range keys {
			fillKey(d, l, key, own.at("f:"+key), steps[1:])
		}
	case []any:
		l, _ := live.([]any)
		for i, element := range d {
			if twin, ok := twinOf(element, i, l); ok && steps[0].chooses(element, i) {
				if len(steps) == 1 {
					if _, isMap := element.(map[string]any); !isMap {
						d[i] = twin
						continue
					}
					fillAll(element, twin, own.of(element))
					continue
				}
				fillAt(element, twin, own.of(element), steps[1:])
			}
		}
	}
}

func fillKey(d, l map[string]any, key string, own owners, rest []step) {
	if isMark(key) {
		return
	}
	wanted, has := d[key]
	lives, there := l[key]
	if len(rest) > 0 {
		fillAt(wanted, lives, own, rest)
		return
	}
	_, wantedMap := wanted.(map[string]any)
	_, livesMap := lives.(map[string]any)
	switch {
	case !there:
		delete(d, key)
	case has && wantedMap && livesMap && !own.leaf():
		fillAll(wanted, lives, own)
	case len(own.others) > 0 && !isList(lives):
		delete(d, key)
	case has || len(own.ours) > 0:
		d[key] = lives
	}
}

// fillAll fills everything in a map of which the fields may have different
// owners.
func fillAll(desired, live any, own owners) {
	d, _ := desired.(map[string]any)
	l, _ := live.(map[string]any)
	for _, key := range append(keysOf(d), keysOf(l)...) {
		if key == "name" && own.byKey(d) {
			continue // it says which element of its list this is
		}
		fillKey(d, l, key, own.at("f:"+key), nil)
	}
}

// drop leaves out what some manager has set.
func drop(desired, live any, trees []any) {
	for _, tree := range trees {
		fields, _ := tree.(map[string]any)
		for name, inner := range fields {
			key, isField := strings.CutPrefix(name, "f:")
			children, _ := inner.(map[string]any)
			switch d := desired.(type) {
			case map[string]any:
				if !isField || isMark(key) {
					continue
				}
				if len(children) == 0 {
					delete(d, key)
					continue
				}
				l, _ := live.(map[string]any)
				drop(d[key], l[key], []any{inner})
			case []any:
				for _, element := range d {
					if elementKey(name, element) {
						drop(element, nil, []any{withoutKey(name, children)})
					}
				}
			}
		}
	}
}

// withoutKey are an element's fields but for those that name it.
func withoutKey(name string, fields map[string]any) map[string]any {
	var key map[string]any
	if json.Unmarshal([]byte(strings.TrimPrefix(name, "k:")), &key) != nil {
		return fields
	}
	rest := map[string]any{}
	for field, inner := range fields {
		if _, names := key[strings.TrimPrefix(field, "f:")]; !names {
			rest[field] = inner
		}
	}
	return rest
}

// at are the owners one field further; who owns the whole owns all in it.
func (o owners) at(field string) owners {
	return owners{below(o.ours, field), below(o.others, field)}
}

func below(trees []any, field string) []any {
	var out []any
	for _, tree := range trees {
		fields, _ := tree.(map[string]any)
		if inner, ok := fields[field]; ok {
			out = append(out, inner)
		} else if len(fields) == 0 {
			out = append(out, tree)
		}
	}
	return out
}

// of are the owners of an element of a list.
func (o owners) of(element any) owners {
	return owners{belowElement(o.ours, element), belowElement(o.others, element)}
}

func belowElement(trees []any, element any) []any {
	var out []any
	for _, tree := range trees {
		fields, _ := tree.(map[string]any)
		if len(fields) == 0 {
			out = append(out, tree)
		}
		for name, inner := range fields {
			if elementKey(name, element) {
				out = append(out, inner)
			}
		}
	}
	return out
}

// elementKey reports whether a field name such as k:{"name":"app"} is that of
// an element.
func elementKey(name string, element any) bool {
	text, ok := strings.CutPrefix(name, "k:")
	m, isMap := element.(map[string]any)
	var key map[string]any
	if !ok || !isMap || json.Unmarshal([]byte(text), &key) != nil {
		return false
	}
	for field, value := range key {
		// A port's protocol may be left to its default.
		if got, has := m[field]; has && fmt.Sprint(got) != fmt.Sprint(value) {
			return false
		}
	}
	return true
}

// leaf reports whether somebody owns the place as a whole.
func (o owners) leaf() bool {
	return slices.ContainsFunc(append(slices.Clone(o.ours), o.others...), func(tree any) bool {
		fields, _ := tree.(map[string]any)
		return len(fields) == 0
	})
}

// byKey reports whether the place is an element that its name identifies.
func (o owners) byKey(d map[string]any) bool { _, has := d["name"]; return has }

func isList(v any) bool { _, ok := v.([]any); return ok }

func isMark(key string) bool {
	return key == kubeobj.ManagedLabel || key == kubeobj.ServiceAnnotation || key == kubeobj.TrackingAnnotation
}

// twinOf finds the live element that a desired one becomes: by its name, else
// by its place.
func twinOf(element any, index int, live []any) (any, bool) {
	if m, ok := element.(map[string]any); ok && m["name"] != nil {
		for _, l := range live {
			if other, ok := l.(map[string]any); ok && other["name"] == m["name"] {
				return l, true
			}
		}
		return nil, false
	}
	if index < len(live) {
		return live[index], true
	}
	return nil, false
}

func keysOf(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	return keys
}
