package drift

import (
	"testing"

	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/internal/kubeobj"
)

// TestHealthOfWhatHasNoRule is about objects without a rule of health: they are healthy while
// they exist, those that run once also after it, and neither before they ran nor while they go.
func TestHealthOfWhatHasNoRule(t *testing.T) {
	w, err := New(Config{REST: &rest.Config{Host: "http://127.0.0.1:1"}, ClusterID: "c"})
	if err != nil {
		t.Fatal(err)
	}
	kind := kubeobj.Kind{Version: "v1", Kind: "ConfigMap", Resource: "configmaps", Namespaced: true}
	ref := kubeobj.Ref{Kind: "ConfigMap", Namespace: "ns", Name: "a"}
	k := w.newKindWatch(kind)
	k.state = synced
	w.kinds[kind.GroupKind()] = k
	is := func(want kubeobj.Expected, health, message string) {
		t.Helper()
		want.Ref, want.Kind, want.Service = ref, kind, "s"
		c := w.Components([]kubeobj.Expected{want})[0]
		if c.GetHealth() != health || c.GetMessage() != message {
			t.Errorf("it is %s: %q; want %s: %q", c.GetHealth(), c.GetMessage(), health, message)
		}
	}
	is(kubeobj.Expected{Once: true, Unrun: true}, "Progressing", "it has not run yet")
	is(kubeobj.Expected{Once: true}, "Healthy", "it has ended and was removed")
	is(kubeobj.Expected{}, "Missing", "it is not in the cluster")
	s := &stream{w: w, k: k}
	for body, health := range map[string]string{
		`{"metadata":{"namespace":"ns","name":"a"}}`:                                            "Healthy",
		`{"metadata":{"namespace":"ns","name":"a","deletionTimestamp":"2026-01-01T00:00:00Z"}}`: "Progressing",
	} {
		_, live, _, err := s.reduce([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		k.objects[name{"ns", "a"}] = live
		is(kubeobj.Expected{}, health, map[string]string{"Progressing": "pending deletion"}[health])
	}
}
