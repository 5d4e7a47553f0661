package schedule

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
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
