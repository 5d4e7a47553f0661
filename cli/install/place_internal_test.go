package install

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// An uninstall deletes what carries the marks of this release in this namespace, and
// nothing of another one.
func TestAReleaseOwnsItsObjects(t *testing.T) {
	i := &place{release: "axle", namespace: "axle"}
	for marks, want := range map[[2]string]bool{{"axle", "axle"}: true, {"axle", "other"}: false, {"other", "axle"}: false, {"", ""}: false} {
		object := &unstructured.Unstructured{}
		object.SetAnnotations(map[string]string{releaseAnnotation: marks[0], releaseNSOfRelease: marks[1]})
		if got := i.owns(object); got != want {
			t.Errorf("it owns an object of release %q in namespace %q: %v", marks[0], marks[1], got)
		}
	}
}
