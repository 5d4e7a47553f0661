package ownership

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/axle-cd/axle/agent/apply/inventory"
	"github.com/axle-cd/axle/agent/apply/plan"
	"github.com/axle-cd/axle/agent/apply/wave"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// The owner of an object is known without scanning all services; the result equals
// that of a scan, however objects move.
func TestWhoHasAnObject(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	e := NewRegistry("c")
	kinds := []kubeobj.Kind{{Version: "v1", Kind: "ConfigMap", Resource: "configmaps"}, {Version: "v1", Kind: "Service", Resource: "services"}}
	ref := func(n int) kubeobj.Ref { return kubeobj.Ref{Kind: kinds[n%2].Kind, Name: fmt.Sprint(n)} }
	for range 3000 {
		id := fmt.Sprint("s", random.IntN(6))
		switch random.IntN(8) {
		case 0:
			e.Forget(id)
		case 1:
			e.mu.Lock()
			e.claimLocked(e.stateLocked(id), kinds[:random.IntN(3)])
			e.mu.Unlock()
		default:
			i := &inventory.Inventory{Service: id, Entries: map[kubeobj.Ref]inventory.Entry{}}
			for range random.IntN(6) {
				n := random.IntN(10)
				i.Entries[ref(n)] = inventory.Entry{Kind: kinds[n%2], Ref: ref(n), Leaving: random.IntN(4) == 0}
			}
			e.mu.Lock()
			e.commitLocked(e.stateLocked(id), i)
			e.mu.Unlock()
		}
		for n := range 10 {
			var has []string
			for id, t := range e.services {
				if t.inventory != nil {
					if _, ok := t.inventory.Entries[ref(n)]; ok {
						has = append(has, id)
					}
				}
			}
			slices.Sort(has)
			owner := e.owner[ref(n)]
			if (owner == "") != (len(has) == 0) || owner != "" && !slices.Contains(has, owner) {
				t.Fatalf("%v is %q's, and %v have it", ref(n), owner, has)
			}
			for _, id := range []string{"s0", "s5"} {
				want := slices.DeleteFunc(slices.Clone(has), func(other string) bool { return other == id })
				got := e.othersLocked(ref(n), id)
				if slices.Sort(got); !slices.Equal(got, want) {
					t.Fatalf("beside %s, %v have %v; got %v", id, want, ref(n), got)
				}
			}
		}
		used := map[kubeobj.Kind]bool{}
		for _, t := range e.services {
			for _, kind := range t.claimed {
				used[kind] = true
			}
			for kind := range t.has {
				used[kind] = true
			}
		}
		if got := e.WatchedKinds(); !slices.Equal(got, inventory.SortedKinds(used)) {
			t.Fatalf("watched are %v, not %v", got, slices.Collect(maps.Keys(used)))
		}
	}
}

// BenchmarkWant measures how a pass finds out which of its objects others have; the
// cost is the same with hundreds of services and with thousands.
func BenchmarkWant(b *testing.B) {
	for _, services := range []int{500, 8000} {
		b.Run(fmt.Sprint(services), func(b *testing.B) {
			e := NewRegistry("c")
			plans := make([]*plan.Plan, services)
			for n := range services {
				i := &inventory.Inventory{Service: fmt.Sprint("s", n), Entries: map[kubeobj.Ref]inventory.Entry{}}
				plans[n] = &plan.Plan{ByRef: map[kubeobj.Ref]*wave.Item{}}
				for k := range 4 {
					ref := kubeobj.Ref{Kind: "ConfigMap", Namespace: "ns", Name: fmt.Sprint(n, "-", k)}
					i.Entries[ref] = inventory.Entry{Ref: ref}
					plans[n].ByRef[ref] = &wave.Item{Ref: ref}
				}
				e.commitLocked(e.stateLocked(i.Service), i)
			}
			n := 0
			for b.Loop() {
				n = (n + 1) % services
				id := fmt.Sprint("s", n)
				e.Want(plan.Service{ID: id}, e.services[id].inventory, plans[n], "")
			}
		})
	}
}
