package apply_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// TestOnlyWhatEndedIsAdopted: objects of another registration stay with it, whatever
// a service says, until the hub reports that it ended. Then they have no owner, and
// adopting takes over the same objects.
func TestOnlyWhatEndedIsAdopted(t *testing.T) {
	b := newBed(t, func(c *apply.Config) { c.ClusterID = "c-ended" })
	service, docs := newService("d1"), []string{configMap("one", "first"), configMap("two", "second")}
	if first := b.pass(service, docs...); first.Phase != apply.PhaseApplied {
		t.Fatalf("%+v", first)
	}
	before, err := b.configMap(service.Namespace, "one")
	if err != nil {
		t.Fatal(err)
	}
	b.engine = b.restart(nil)
	next := newService("d1")
	next.Namespace, next.Adopt = service.Namespace, true
	if got := b.pass(next, docs...); got.Sync != apply.SyncFailed || !strings.Contains(got.Message, "another cluster registration") {
		t.Errorf("a live registration lost an object: %+v", got)
	}
	if err := apply.LetGo(t.Context(), b.engine, []string{"c-ended"}); err != nil {
		t.Fatal(err)
	}
	after, err := b.configMap(service.Namespace, "one")
	if err != nil || after.UID != before.UID || after.Labels[kubeobj.ManagedLabel] != "" || after.Annotations[kubeobj.ServiceAnnotation] != "" {
		t.Errorf("marks stay: %v, %v", after, err)
	}
	left, err := b.admin.CoreV1().Secrets("axle-system").List(t.Context(), metav1.ListOptions{LabelSelector: "axle-cd.github.io/inventory=" + service.ID})
	if err != nil || len(left.Items) > 0 {
		t.Errorf("%d Secrets of the inventory stay, %v", len(left.Items), err)
	}
	next.Adopt = false
	if got := b.pass(next, docs...); got.Sync != apply.SyncFailed || !strings.Contains(got.Message, "adopt: true") {
		t.Errorf("taken without a word: %+v", got)
	}
	next.Adopt = true
	if got := b.pass(next, docs...); got.Phase != apply.PhaseApplied {
		t.Errorf("adoption: %+v", got)
	}
	if m, err := b.configMap(service.Namespace, "one"); err != nil || m.UID != before.UID || m.Labels[kubeobj.ManagedLabel] != clusterID {
		t.Errorf("after the adoption: %v, %v", m, err)
	}
}

// TestMarkOfAnEndedRegistrationIsAdopted takes over an object that no inventory
// names.
func TestMarkOfAnEndedRegistrationIsAdopted(t *testing.T) {
	b := newBed(t, nil)
	service := newService("d1")
	b.kubectlMap(service.Namespace, "one")
	m, err := b.configMap(service.Namespace, "one")
	if err != nil {
		t.Fatal(err)
	}
	m.Labels = map[string]string{kubeobj.ManagedLabel: "c-lost"}
	if _, err := b.admin.CoreV1().ConfigMaps(service.Namespace).Update(t.Context(), m, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	service.Adopt = true
	if got := b.pass(service, configMap("one", "first")); got.Sync != apply.SyncFailed {
		t.Errorf("a live registration lost an object: %+v", got)
	}
	if err := apply.LetGo(t.Context(), b.engine, []string{"c-lost"}); err != nil {
		t.Fatal(err)
	}
	service.Adopt = false
	if got := b.pass(service, configMap("one", "first")); !strings.Contains(got.Message, "earlier registration") {
		t.Errorf("refusal: %+v", got)
	}
	service.Adopt = true
	if got := b.pass(service, configMap("one", "first")); got.Phase != apply.PhaseApplied {
		t.Errorf("adoption: %+v", got)
	}
}
