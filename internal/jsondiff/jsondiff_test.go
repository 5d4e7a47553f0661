package jsondiff_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/internal/jsondiff"
)

func parse(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestOf(t *testing.T) {
	type change = jsondiff.Change
	for _, c := range []struct {
		name, old, new string
		want           []change
	}{
		{"equal", `{"a": {"b": [1, 2]}}`, `{"a": {"b": [1, 2]}}`, nil},
		{"a field", `{"git": {"ref": "v1", "folder": "a"}}`, `{"git": {"ref": "v2", "folder": "a"}}`, []change{{"git.ref", "v1", "v2"}}},
		{"null is nothing", `{"a": null}`, `{}`, nil},
		{"an object that comes is its fields", `{}`, `{"helm": {"chart": "web", "version": "1"}}`, []change{{"helm.chart", nil, "web"}, {"helm.version", nil, "1"}}},
		{"an object that goes is its fields", `{"helm": {"chart": "web"}}`, `{}`, []change{{"helm.chart", "web", nil}}},
		{"an empty object that comes", `{}`, `{"helm": {}}`, []change{{"helm", nil, map[string]any{}}}},
		{"a list is one change", `{"files": ["a"]}`, `{"files": ["a", "b"]}`, []change{{"files", []any{"a"}, []any{"a", "b"}}}},
		{"another type", `{"a": {"b": 1}}`, `{"a": "text"}`, []change{{"a", map[string]any{"b": 1.0}, "text"}}},
		{"in their order", `{"b": 1, "a": 1}`, `{"b": 2, "a": 2}`, []change{{"a", 1.0, 2.0}, {"b", 1.0, 2.0}}},
		{"keys that are no names", `{}`, `{"x": {"a.b": 1, "": 2}}`, []change{{`x[""]`, nil, 2.0}, {`x["a.b"]`, nil, 1.0}}},
		{"the whole", `1`, `2`, []change{{"", 1.0, 2.0}}},
	} {
		if diff := cmp.Diff(c.want, jsondiff.Of(parse(t, c.old), parse(t, c.new))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
