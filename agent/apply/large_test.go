package apply_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// noted is a Live that knows what applies answered: thousands of objects need
// no requests of a test.
type noted struct {
	oracle
	mu      sync.Mutex
	objects map[kubeobj.Ref]kubeobj.Live
}

func (n *noted) Note(_ kubeobj.Kind, ref kubeobj.Ref, live kubeobj.Live) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.objects[ref] = live
}

func (n *noted) Lookup(_ kubeobj.Kind, ref kubeobj.Ref) (live kubeobj.Live, found, synced bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	live, found = n.objects[ref]
	return live, found, true
}

// all runs passes until one is not a step of a longer one.
func (b *bed) all(service apply.Service, objects []*unstructured.Unstructured) apply.Result {
	b.t.Helper()
	for range 1000 {
		result, err := b.engine.Pass(b.t.Context(), b.permit(b.engine, service), service, objects)
		if err != nil {
			b.t.Fatal(err)
		}
		if result.Again == 0 || result.Again > time.Second {
			return result
		}
	}
	b.t.Fatal("1000 steps and no end")
	return apply.Result{}
}

// A service of thousands of objects: 1,000 here, 10,000 with AXLE_SOAK=1. They are
// applied, known after a restart without being written again, and most of them are
// deleted only after a person approves. No Secret of the inventory comes near the
// size that Kubernetes rejects.
func TestServiceOfThousandsOfObjects(t *testing.T) {
	count := 1000
	if os.Getenv("AXLE_SOAK") != "" {
		count = 10_000
	}
	live := &noted{objects: map[kubeobj.Ref]kubeobj.Live{}}
	change := func(cfg *apply.Config) { cfg.Live = live }
	b := newBed(t, change)
	service := newService("d1")
	docs := objects(t, maps(count)...)
	if result := b.all(service, docs); result.Phase != apply.PhaseApplied || len(result.Problems) > 0 {
		t.Fatalf("install: %+v", result)
	}
	if n := b.count(service.Namespace); n != count {
		t.Fatalf("%d objects of %d are there", n, count)
	}
	secrets, err := b.admin.CoreV1().Secrets("axle-system").List(t.Context(), metav1.ListOptions{LabelSelector: "axle-cd.github.io/inventory=" + service.ID})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range secrets.Items {
		if n := secretBytes(s); n > 600<<10 {
			t.Errorf("Secret %s has %d bytes", s.Name, n)
		}
	}
	if len(secrets.Items) != 1 && count < 5000 || len(secrets.Items) > 4 {
		t.Errorf("the inventory of %d objects takes %d Secrets", count, len(secrets.Items))
	}
	b.engine = b.restart(change)
	mark := b.mark()
	if result := b.all(service, docs); result.Unchanged != count {
		t.Errorf("after a restart: %+v", result)
	}
	if sent := b.requests(mark); len(sent) != 0 {
		t.Errorf("after a restart %d requests are sent, first %v", len(sent), sent[0])
	}

	service.TarballDigest = "d2"
	few := docs[:count/2]
	held := b.all(service, few)
	if held.Reason != apply.ReasonPruneHeld || held.Held != count-len(few) {
		t.Fatalf("half of the objects go: %+v", held)
	}
	if n := b.count(service.Namespace); n != count {
		t.Errorf("%d objects of %d are left before anybody allowed it", n, count)
	}
	service.PruneApproval = 1
	if result := b.all(service, few); result.Phase != apply.PhaseApplied {
		t.Fatalf("once it is allowed: %+v", result)
	}
	if n := b.count(service.Namespace); n != len(few) {
		t.Errorf("%d objects are left, not %d", n, len(few))
	}
}

func secretBytes(s corev1.Secret) int {
	n := 0
	for _, data := range s.Data {
		n += len(data)
	}
	return n
}

// An object that Kubernetes does not take for its size is said to be too
// large, and the others are applied.
func TestObjectThatIsTooLarge(t *testing.T) {
	b := newBed(t, nil)
	for size, says := range map[int]string{2 << 20: "may not be more than 1048576 bytes", 13 << 20: "split it"} {
		service := newService("d1")
		result := b.pass(service, configMap("small", "v"), configMap("large", strings.Repeat("x", size)))
		if result.Sync != apply.SyncFailed || result.Applied != 1 || !strings.Contains(result.Message, says) || len(result.Message) > 1000 {
			t.Errorf("%d MiB: applied %d, %s: %.300s", size>>20, result.Applied, result.Sync, result.Message)
		}
		if _, err := b.configMap(service.Namespace, "small"); err != nil {
			t.Error(err)
		}
	}
}

// A missing kind that another tool installs is known as soon as the engine is told
// that the served kinds changed.
func TestKindThatSomebodyElseBrings(t *testing.T) {
	b := newBed(t, nil)
	service := newService("d1")
	number := strings.TrimPrefix(service.ID, "svc-")
	docs := []string{"apiVersion: example.org/v1\nkind: Stranger" + number + "\nmetadata: {name: l}\nspec: {size: 1}", configMap("a", "v")}
	missing := "example.org/v1/Stranger" + number
	if result := b.pass(service, docs...); result.Sync != apply.SyncFailed || !slices.Equal(result.Missing, []string{missing}) {
		t.Fatalf("before the definition: %+v", result)
	}
	crds := b.dynamic.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	if _, err := crds.Create(t.Context(), objects(t, crd("strangers"+number, "Stranger"+number))[0], metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually.For(t, time.Minute, "the kind is served", func() error {
		b.engine.APIsChanged()
		if result := b.pass(service, docs...); result.Phase != apply.PhaseApplied || len(result.Missing) > 0 {
			return fmt.Errorf("%+v", result)
		}
		return nil
	})
}
