package overlay_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/internal/overlay"
)

func TestMapsAreMergedAndTheRestIsReplaced(t *testing.T) {
	into := map[string]any{"image": map[string]any{"tag": "1", "name": "web"}, "hosts": []any{"a"}, "was": map[string]any{"a": 1}, "kept": true}
	first := map[string]any{"image": map[string]any{"tag": "2"}, "hosts": []any{"b", "c"}, "was": "a text", "fresh": map[string]any{"a": 1}}
	overlay.Merge(into, first)
	overlay.Merge(into, map[string]any{"fresh": map[string]any{"a": 2}, "hosts": nil})
	want := map[string]any{"image": map[string]any{"tag": "2", "name": "web"}, "hosts": nil, "was": "a text", "kept": true, "fresh": map[string]any{"a": 2}}
	if diff := cmp.Diff(want, into); diff != "" {
		t.Errorf("merged (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"a": 1}, first["fresh"]); diff != "" {
		t.Errorf("what was put over it changed:\n%s", diff)
	}
}
