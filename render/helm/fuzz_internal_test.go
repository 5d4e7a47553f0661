package helm

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzMergeValues holds what laying values over each other must keep: it never
// panics, the same texts give the same values, a text over itself changes
// nothing, and the last text's plain values win.
func FuzzMergeValues(f *testing.F) {
	f.Add([]byte("a: 1\nb: {c: d}\n"), []byte("b: {c: null, e: f}\n"))
	f.Add([]byte("a: [1, 2]\n"), []byte("a: {b: c}\n---\na: x\n"))
	f.Add([]byte("? {a: b}\n: c\n"), []byte("<<: *x\n"))
	f.Fuzz(func(t *testing.T, low, high []byte) {
		texts := []valuesText{{name: "low", text: low}, {name: "high", text: high}}
		merged, err := mergeValues(texts)
		if err != nil {
			return
		}
		again, err := mergeValues(append(texts, valuesText{name: "again", text: high}))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(merged, again); diff != "" {
			t.Errorf("the same values again changed something:\n%s", diff)
		}
		only, err := mergeValues(texts[1:])
		if err != nil {
			t.Fatal(err)
		}
		for key, value := range only {
			if _, isMap := value.(map[string]any); isMap {
				continue
			}
			if diff := cmp.Diff(value, merged[key]); diff != "" {
				t.Errorf("%q of the last text does not win:\n%s", key, diff)
			}
		}
	})
}
