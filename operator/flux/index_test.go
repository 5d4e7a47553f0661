package flux_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/axle-cd/axle/operator/flux"
)

// An object is found by what it is about now, and by nothing that it was about before.
func TestIndex(t *testing.T) {
	a, b := types.NamespacedName{Namespace: "n", Name: "a"}, types.NamespacedName{Namespace: "n", Name: "b"}
	var i flux.Index
	i.Set(a, "one", "two")
	i.Set(b, "two")
	for _, tt := range []struct {
		change func()
		key    string
		want   int
	}{
		{func() {}, "one", 1}, {func() {}, "two", 2}, {func() {}, "three", 0},
		{func() { i.Set(a, "three") }, "one", 0}, {func() {}, "two", 1}, {func() {}, "three", 1},
		{func() { i.Set(a); i.Set(a) }, "three", 0}, {func() { i.Set(b) }, "two", 0},
	} {
		if tt.change(); len(i.Of(tt.key)) != tt.want {
			t.Errorf("%s has %v, want %d", tt.key, i.Of(tt.key), tt.want)
		}
	}
}
