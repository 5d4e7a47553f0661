package schedule

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/axle-cd/axle/internal/pool"
)

// work runs workers of a queue as a controller does. What began comes out of the channel,
// and ends when release is called for it.
func work(t *testing.T, q *shares, workers int) (began chan reconcile.Request, release func(reconcile.Request)) {
	t.Helper()
	began = make(chan reconcile.Request, 1000)
	var mu sync.Mutex
	ends := map[reconcile.Request]chan struct{}{}
	end := func(r reconcile.Request) chan struct{} {
		mu.Lock()
		defer mu.Unlock()
		if ends[r] == nil {
			ends[r] = make(chan struct{})
		}
		return ends[r]
	}
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for {
				r, _, shutdown := q.GetWithPriority()
				if shutdown {
					return
				}
				until := end(r)
				began <- r
				select {
				case <-until:
				case <-t.Context().Done():
				}
				q.Done(r)
			}
		})
	}
	t.Cleanup(func() { q.ShutDown(); all.Wait() })
	return began, func(r reconcile.Request) { close(end(r)) }
}

func object(namespace string, n int) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: fmt.Sprint(n)}}
}

// next waits for what begins next.
func next(t *testing.T, began chan reconcile.Request) reconcile.Request {
	t.Helper()
	select {
	case r := <-began:
		return r
	case <-time.After(20 * time.Second):
		t.Fatal("nothing begins: all workers are taken")
		return reconcile.Request{}
	}
}

// TestPoolsOfTheOperatorHaveShares fills the pool of an operator's controller as one namespace:
// another one gets a place still. A pool without a row in docs/security.md, or without metrics,
// fails.
func TestPoolsOfTheOperatorHaveShares(t *testing.T) {
	page, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	q := newShares("pools", 16, NewBackoff(Timing{}.WithDefaults()))
	t.Cleanup(q.ShutDown)
	guests := 0
	for q.workers.Try(pool.Caller{Name: "guest"}) != nil {
		guests++
	}
	if other := q.workers.Try(pool.Caller{Name: "other"}); guests != 8 || other == nil {
		t.Errorf("a guest has %d of 16 workers, and another namespace has one: %v", guests, other != nil)
	}
	found := map[string]bool{}
	pools().Each(func(name string, _ any) {
		found[name] = true
		if !strings.Contains(string(page), "| `"+name+"` |") {
			t.Errorf("the pool %s has no row in docs/security.md", name)
		}
	})
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "axle_pool_capacity" {
				shown[m.GetLabel()[0].GetValue()] = true
			}
		}
	}
	if !found["workers"] || fmt.Sprint(shown) != fmt.Sprint(found) {
		t.Errorf("metrics have %v of %v", shown, found)
	}
}

// TestNoNamespaceHasAllWorkers holds that objects which take for ever leave workers to
// those of other namespaces, and that what was held follows, in order.
func TestNoNamespaceHasAllWorkers(t *testing.T) {
	const workers = 16
	q := newShares("shares", workers, NewBackoff(Timing{}.WithDefaults()))
	began, release := work(t, q, workers)
	for n := range 30 {
		q.Add(object("greedy", n))
	}
	var running []reconcile.Request
	for range workers / 2 {
		running = append(running, next(t, began))
	}
	for _, namespace := range []string{"second", "third", "fourth", "fifth"} {
		q.Add(object(namespace, 0))
		if r := next(t, began); r.Namespace != namespace {
			t.Fatalf("%s began, and %s waits", r, namespace)
		}
		release(object(namespace, 0))
	}
	// Each that ends makes room for one.
	for n := range 30 - workers/2 {
		release(running[n])
		r := next(t, began)
		if r.Namespace != "greedy" {
			t.Fatalf("%s began", r)
		}
		running = append(running, r)
	}
	for _, r := range running[30-workers/2:] {
		release(r)
	}
}

// TestSharesOfOneWorker holds that a queue with one worker is as without shares.
func TestSharesOfOneWorker(t *testing.T) {
	q := newShares("one", 1, NewBackoff(Timing{}.WithDefaults()))
	began, release := work(t, q, 1)
	for n := range 5 {
		q.Add(object("a", n))
		q.Add(object("b", n))
	}
	for range 10 {
		release(next(t, began))
	}
}
