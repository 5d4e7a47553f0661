package drift

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/internal/kubeobj"
)

// An object with its own deadline is Degraded when it is Progressing for longer with
// one specification, however often its status changes.
func TestProgressDeadline(t *testing.T) {
	clock := &fixed{time.Unix(1e9, 0)}
	w, err := New(Config{REST: &rest.Config{Host: "http://127.0.0.1:1"}, ClusterID: "c", Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	kind := kubeobj.Kind{Group: "example.org", Version: "v1", Kind: "Thing", Resource: "things", Namespaced: true}
	ref := kubeobj.Ref{Group: "example.org", Kind: "Thing", Namespace: "ns", Name: "a"}
	k := w.newKindWatch(kind)
	k.state = synced
	w.kinds[kind.GroupKind()] = k
	version := 0
	saw := func(annotation string, generation int64, health, message string) {
		version++
		object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Generation: generation, ResourceVersion: fmt.Sprint(1000 + version),
			Annotations: map[string]string{kubeobj.DeadlineAnnotation: annotation, kubeobj.ServiceAnnotation: "s"}}}
		live := kubeobj.Reduce(ref, object)
		live.Health, live.Message = health, message
		w.saw(t.Context(), k, ref, live, nil)
		w.changed = map[string]bool{}
	}
	is := func(health, message string) {
		t.Helper()
		c := w.Components([]kubeobj.Expected{{Ref: ref, Kind: kind, Service: "s"}})[0]
		if c.GetHealth() != health || c.GetMessage() != message {
			t.Errorf("it is %s: %q; want %s: %q", c.GetHealth(), c.GetMessage(), health, message)
		}
	}
	after := func(d time.Duration, told bool) {
		t.Helper()
		clock.now = clock.now.Add(d)
		w.tellStalls(clock.now)
		if w.changed["s"] != told {
			t.Errorf("after %s the service is told: %v", d, !told)
		}
	}
	saw("10m", 1, "Progressing", "step 1")
	after(9*time.Minute, false)
	saw("10m", 1, "Progressing", "step 2")
	is("Progressing", "step 2")
	after(time.Minute, true)
	is("Degraded", "not healthy within its progress deadline of 10m0s: step 2")
	saw("10m", 2, "Progressing", "step 3")
	is("Progressing", "step 3")
	after(20*time.Minute, true)
	saw("10m", 2, "Healthy", "")
	is("Healthy", "")
	saw("10m", 2, "Progressing", "again")
	after(time.Minute, false)
	is("Progressing", "again")
	for _, none := range []string{"", "soon", "-5m"} {
		saw(none, 3, "Progressing", "no deadline")
		after(time.Hour, false)
		is("Progressing", "no deadline")
	}
}
