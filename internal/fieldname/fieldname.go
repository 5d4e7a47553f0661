package fieldname

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/axle-cd/axle/internal/kubeobj"
)

// Most is how many changes of one object are named.
const Most = 10

// maxPath bounds the text of one path, because it may contain values of sets.
const maxPath = 200

// Of returns the fields of some entries. An unreadable entry counts as empty.
func Of(entries []metav1.ManagedFieldsEntry, which func(metav1.ManagedFieldsEntry) bool) *fieldpath.Set {
	union := fieldpath.NewSet()
	for _, e := range entries {
		if e.FieldsV1 == nil || !which(e) {
			continue
		}
		set := fieldpath.NewSet()
		if set.FromJSON(bytes.NewReader(e.FieldsV1.GetRawBytes())) == nil {
			union = union.Union(set)
		}
	}
	return union
}

// Taken names the fields that our apply took back: those that it owns after it and
// did not own before, each with its previous owner. A field without a previous owner
// was removed.
func Taken(before, after []metav1.ManagedFieldsEntry) []kubeobj.FieldChange {
	back := Of(after, kubeobj.Ours).Difference(Of(before, kubeobj.Ours)).Leaves()
	others := func(e metav1.ManagedFieldsEntry) bool { return !kubeobj.Ours(e) && e.Subresource != "status" }
	return changes(back, newestFirst(before, others))
}

// Added names the fields that some managers set and we did not.
func Added(entries []metav1.ManagedFieldsEntry, theirs func(manager string) bool) []kubeobj.FieldChange {
	which := func(e metav1.ManagedFieldsEntry) bool {
		return !kubeobj.Ours(e) && e.Subresource == "" && theirs(e.Manager)
	}
	return changes(Of(entries, which).Difference(Of(entries, kubeobj.Ours)).Leaves(), newestFirst(entries, which))
}

type owner struct {
	manager string
	set     *fieldpath.Set
}

func newestFirst(entries []metav1.ManagedFieldsEntry, which func(metav1.ManagedFieldsEntry) bool) []owner {
	sorted := slices.Clone(entries)
	slices.SortStableFunc(sorted, func(a, b metav1.ManagedFieldsEntry) int {
		return cmp.Compare(unix(b.Time), unix(a.Time))
	})
	var all []owner
	for _, e := range sorted {
		if which(e) {
			all = append(all, owner{e.Manager, Of([]metav1.ManagedFieldsEntry{e}, which)})
		}
	}
	return all
}

func unix(t *metav1.Time) int64 {
	if t == nil {
		return 0
	}
	return t.Unix()
}

func changes(set *fieldpath.Set, owners []owner) []kubeobj.FieldChange {
	var all []kubeobj.FieldChange
	seen := map[string]bool{}
	set.Iterate(func(p fieldpath.Path) {
		// An element of a set is a value, and values are not shown.
		named := p
		for i, element := range p {
			if element.Value != nil {
				named = p[:i]
				break
			}
		}
		text := named.String()
		if len(text) > maxPath {
			text = strings.ToValidUTF8(text[:maxPath], "") + "…"
		}
		if len(named) == 0 || seen[text] || isMark(text) {
			return
		}
		seen[text] = true
		c := kubeobj.FieldChange{Path: text}
		for _, o := range owners {
			if o.set.Has(p) {
				c.Manager = o.manager
				break
			}
		}
		// managedFields do not say who removed a field.
		c.Removed = c.Manager == ""
		all = append(all, c)
	})
	slices.SortFunc(all, func(a, b kubeobj.FieldChange) int { return cmp.Compare(a.Path, b.Path) })
	return all
}

// isMark reports whether a path is one of our marks: changes of marks are reported
// separately.
func isMark(path string) bool {
	return strings.Contains(path, kubeobj.ManagedLabel) || strings.Contains(path, kubeobj.ServiceAnnotation) || strings.Contains(path, kubeobj.TrackingAnnotation)
}

// Managers returns the names of the managers of some entries.
func Managers(entries []metav1.ManagedFieldsEntry, which func(metav1.ManagedFieldsEntry) bool) string {
	var names []string
	for _, e := range entries {
		if which(e) && !slices.Contains(names, e.Manager) {
			names = append(names, e.Manager)
		}
	}
	return strings.Join(names, ", ")
}

// Words describes changes in one text; empty if there are none.
func Words(all []kubeobj.FieldChange) string {
	var texts []string
	for i, c := range all {
		text := c.Path
		if c.Removed {
			text += " removed"
		}
		// Neighbours by one manager share its name.
		if c.Manager != "" && (i+1 == len(all) || i+1 == Most || all[i+1].Manager != c.Manager) {
			text += " (by " + c.Manager + ")"
		}
		if texts = append(texts, text); len(texts) == Most {
			break
		}
	}
	text := strings.Join(texts, ", ")
	if more := len(all) - len(texts); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Remove removes the fields of a set from an object.
func Remove(object map[string]any, set *fieldpath.Set) {
	raw, err := set.ToJSON()
	if err != nil {
		return
	}
	var tree map[string]any
	if json.Unmarshal(raw, &tree) == nil {
		remove(object, tree)
	}
}

// remove removes fields and reports whether nothing is left at a position.
func remove(at any, tree map[string]any) (empty bool) {
	switch v := at.(type) {
	case map[string]any:
		for name, inner := range tree {
			key, isField := strings.CutPrefix(name, "f:")
			value, has := v[key]
			if !isField || !has {
				continue
			}
			children, _ := inner.(map[string]any)
			if len(children) == 0 {
				delete(v, key)
				continue
			}
			if list, ok := value.([]any); ok {
				if value = removeElements(list, children); len(value.([]any)) == 0 {
					delete(v, key)
					continue
				}
				v[key] = value
			} else if remove(value, children) {
				delete(v, key)
			}
		}
		return len(v) == 0
	case nil:
		return true
	}
	return false
}

func removeElements(list []any, tree map[string]any) []any {
	kept := []any{}
	for _, element := range list {
		gone := false
		for name, inner := range tree {
			children, _ := inner.(map[string]any)
			_, whole := children["."]
			if isElement(name, element) {
				if whole = whole || len(children) == 0; whole {
					gone = true
				} else {
					remove(element, children)
				}
			}
		}
		if !gone {
			kept = append(kept, element)
		}
	}
	return kept
}

// isElement reports whether k:{"name":"app"} or v:"value" is an element.
func isElement(name string, element any) bool {
	if text, ok := strings.CutPrefix(name, "v:"); ok {
		var value any
		return json.Unmarshal([]byte(text), &value) == nil && fmt.Sprint(value) == fmt.Sprint(element)
	}
	text, ok := strings.CutPrefix(name, "k:")
	fields, isMap := element.(map[string]any)
	var key map[string]any
	if !ok || !isMap || json.Unmarshal([]byte(text), &key) != nil {
		return false
	}
	for field, value := range key {
		if got, has := fields[field]; !has || fmt.Sprint(got) != fmt.Sprint(value) {
			return false
		}
	}
	return true
}
