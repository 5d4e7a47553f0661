package write

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/axle-cd/axle/internal/fieldname"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// Earlier versions applied a Secret's stringData as it was. Then we own keys of
// stringData, and nobody owns those of data. The first write after that says that the
// keys of data are ours, those included that were dropped from Git meanwhile, so that
// those are removed.

// DataOf returns the keys of data that are ours because we applied them as stringData:
// those that we still apply so, and those that nobody owns. Nil: we applied none.
func DataOf(ref kubeobj.Ref, managers []metav1.ManagedFieldsEntry, keys []string) (*fieldpath.Set, error) {
	if !kubeobj.OwnsStrings(ref, managers) {
		return nil, nil
	}
	ours, all := fieldpath.NewSet(), fieldpath.NewSet()
	for _, entry := range managers {
		if entry.FieldsV1 == nil {
			continue
		}
		set := fieldpath.NewSet()
		if err := set.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())); err != nil {
			return nil, err
		}
		set = asData(set)
		if all = all.Union(set); kubeobj.Ours(entry) {
			ours = ours.Union(set)
		}
	}
	out := fieldpath.NewSet()
	for _, key := range keys {
		if path := fieldpath.MakePathOrDie("data", key); ours.Has(path) || !all.Has(path) {
			out.Insert(path)
		}
	}
	return out, nil
}

// DataKeys are the keys of a Secret's data.
func DataKeys(secret map[string]any) []string {
	data, _ := secret["data"].(map[string]any)
	return slices.Sorted(maps.Keys(data))
}

// Takes returns the fields that a write takes over: those of some managers, and DataOf.
func Takes(ref kubeobj.Ref, live *unstructured.Unstructured, which func(metav1.ManagedFieldsEntry) bool) *fieldpath.Set {
	fields := fieldname.Of(live.GetManagedFields(), which)
	if data, err := DataOf(ref, live.GetManagedFields(), DataKeys(live.Object)); err == nil && data != nil {
		return fields.Union(data)
	}
	return fields
}

// asData renames stringData to data in a set of fields.
func asData(set *fieldpath.Set) *fieldpath.Set {
	out := fieldpath.NewSet()
	set.Iterate(func(p fieldpath.Path) {
		p = p.Copy()
		if name := p[0].FieldName; name != nil && *name == "stringData" {
			p[0] = fieldpath.MakePathOrDie("data")[0]
		}
		out.Insert(p)
	})
	return out
}

// secretPaths are ignored fields of a Secret, in which stringData is data.
func secretPaths(paths []string) (all []string) {
	for _, path := range paths {
		for _, begin := range []string{"/stringData", ".stringData"} {
			if rest, ok := strings.CutPrefix(path, begin); ok && (rest == "" || strings.ContainsAny(rest[:1], "/.[|? ")) {
				path = begin[:1] + "data" + rest
			}
		}
		all = append(all, path)
	}
	return all
}
