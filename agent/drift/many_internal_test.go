package drift

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/internal/kubeobj"
)

// many expects an object of each of many services.
type many map[kubeobj.Ref]kubeobj.Expected

func (m many) Expected(ref kubeobj.Ref) (kubeobj.Expected, bool) {
	want, ok := m[ref]
	return want, ok
}
func (m many) ExpectedOf(kubeobj.Kind) []kubeobj.Expected                            { return nil }
func (m many) Objects(string) []kubeobj.Expected                                     { return nil }
func (m many) Heal(context.Context, string, []kubeobj.Ref) ([]kubeobj.Healed, error) { return nil, nil }

// Thousands of objects drifted, and are only reported. An event about one of
// them, and a status of one service, must not look at the others.
func TestDriftOfOneLooksAtFew(t *testing.T) {
	const objects, events = 3000, 100
	clock := &fixed{time.Unix(1e9, 0)}
	w, err := New(Config{REST: &rest.Config{Host: "http://127.0.0.1:1"}, ClusterID: "c", Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	kind := kubeobj.Kind{Version: "v1", Kind: "ConfigMap", Resource: "configmaps", Namespaced: true}
	k := w.newKindWatch(kind)
	k.state = synced
	w.kinds[kind.GroupKind()] = k
	all := many{}
	w.owner = all
	ref := func(n int) kubeobj.Ref { return kubeobj.Ref{Kind: "ConfigMap", Namespace: "ns", Name: fmt.Sprint(n)} }
	for n := range objects {
		service := fmt.Sprint("s", n)
		all[ref(n)] = kubeobj.Expected{Ref: ref(n), Kind: kind, Service: service, Print: kubeobj.Fingerprint{Own: 1}}
		k.objects[name{"ns", fmt.Sprint(n)}] = kubeobj.Live{Service: service, Tracked: true, Print: kubeobj.Fingerprint{Own: 1, Foreign: 5}}
		w.dirty[ref(n)] = true
	}
	w.round(t.Context())
	w.round(t.Context())
	w.looks = 0
	for n := range events {
		clock.now = clock.now.Add(time.Millisecond)
		w.dirty[ref(n)] = true
		w.round(t.Context())
		if found := w.Findings(fmt.Sprint("s", n)); len(found) != 1 || found[0].State != Drifted {
			t.Fatalf("found %v of service %d", found, n)
		}
	}
	if w.looks > 2*events {
		t.Errorf("%d events, and %d looks at what drifted", events, w.looks)
	}
}
