package apply_test

import (
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// A service left, and a restore of the cluster from a backup brings its objects and its
// inventory back. An agent that runs finds it, one that starts knows it, and neither deletes
// or heals anything of it; once somebody removed the inventory it is forgotten.
func TestWhatABackupBringsBackIsFoundAndLeft(t *testing.T) {
	b := newBed(t, nil)
	ctx := t.Context()
	service, other := newService("d1"), newService("d1")
	b.pass(service, maps(2)...)
	b.pass(other, maps(2)...)
	selector := metav1.ListOptions{LabelSelector: apply.InventoryLabel + "=" + service.ID}
	secrets, err := b.admin.CoreV1().Secrets("axle-system").List(ctx, selector)
	if err != nil || len(secrets.Items) == 0 {
		t.Fatalf("%d Secrets, %v", len(secrets.Items), err)
	}
	objects, err := b.admin.CoreV1().ConfigMaps(service.Namespace).List(ctx, metav1.ListOptions{LabelSelector: kubeobj.ManagedLabel})
	if err != nil {
		t.Fatal(err)
	}
	if result, err := b.engine.Drain(ctx, b.permit(b.engine, service), service); err != nil || !result.Done {
		t.Fatalf("drain: %+v, %v", result, err)
	}
	look := func(e *apply.Engine, unwanted ...string) []string {
		t.Helper()
		changed, err := e.LookAgain(ctx, unwanted)
		if err != nil {
			t.Fatal(err)
		}
		return changed
	}
	if changed := look(b.engine, service.ID); slices.Contains(changed, service.ID) {
		t.Error("a service that left is found")
	}

	for _, o := range objects.Items {
		o.ResourceVersion = ""
		if _, err := b.admin.CoreV1().ConfigMaps(o.Namespace).Create(ctx, &o, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	for _, s := range secrets.Items {
		s.ResourceVersion = ""
		if _, err := b.admin.CoreV1().Secrets(s.Namespace).Create(ctx, &s, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	mark := b.mark()
	if changed := look(b.engine); !slices.Contains(changed, service.ID) || slices.Contains(changed, other.ID) {
		t.Errorf("it finds %v, without %s", changed, service.ID)
	}
	if changed := look(b.engine, service.ID, other.ID); slices.Contains(changed, service.ID) || slices.Contains(changed, other.ID) {
		t.Errorf("it finds %v again", changed)
	}
	started := b.restart(nil)
	for name, e := range map[string]*apply.Engine{"the agent that runs": b.engine, "one that starts": started} {
		state, known := e.State(service.ID)
		if !known || state.Name != service.Name || state.Namespace != service.Namespace || state.Objects != 2 {
			t.Errorf("%s: %+v, %v", name, state, known)
		}
	}
	for _, o := range b.engine.Objects(service.ID) {
		if !o.Paused {
			t.Errorf("%s is healed", o.Ref)
		}
	}
	b.pass(other, maps(2)...)
	if n := b.count(service.Namespace); n != 2 {
		t.Errorf("%d of its 2 objects are left", n)
	}
	for _, e := range b.requests(mark) {
		if e.Verb != "list" && e.Verb != "get" && (strings.Contains(e.URI, service.Namespace+"/") || strings.Contains(e.URI, "axle-inventory-"+service.ID+"-")) {
			t.Errorf("the agent sent %s %s", e.Verb, e.URI)
		}
	}

	if err := b.admin.CoreV1().Secrets("axle-system").DeleteCollection(ctx, metav1.DeleteOptions{}, selector); err != nil {
		t.Fatal(err)
	}
	look(b.engine)
	if _, known := b.engine.State(service.ID); !known {
		t.Error("a service that may be wanted is forgotten")
	}
	if changed := look(b.engine, service.ID); !slices.Contains(changed, service.ID) {
		t.Errorf("it finds %v, without %s", changed, service.ID)
	}
	if _, known := b.engine.State(service.ID); known {
		t.Error("it is still known")
	}
}
