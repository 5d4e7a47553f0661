package apply_test

import (
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/kube"
)

// cutter lets some requests through and then loses everything, either before
// it reaches the API server or only the answer.
type cutter struct {
	next   http.RoundTripper
	left   atomic.Int64
	answer bool
}

func (c *cutter) RoundTrip(r *http.Request) (*http.Response, error) {
	left := c.left.Add(-1)
	if left == 0 && c.answer {
		if response, err := c.next.RoundTrip(r); err == nil {
			response.Body.Close()
		}
	}
	if left <= 0 {
		return nil, errors.New("the agent was killed")
	}
	return c.next.RoundTrip(r)
}

func cut(after int64, answer bool) func(*apply.Config) {
	return func(cfg *apply.Config) {
		cfg.REST.WrapTransport = func(next http.RoundTripper) http.RoundTripper {
			c := &cutter{next: next, answer: answer}
			// The first request is Load's.
			c.left.Store(after + 1)
			return c
		}
	}
}

// An agent that is killed before or after any of its requests leaves a state that the
// next one can finish: nothing is lost, and nothing is left over.
func TestKillAtAnyRequestConverges(t *testing.T) {
	b := newBed(t, nil)
	oldDocs := append(maps(5), "apiVersion: v1\nkind: Secret\nmetadata: {name: old}\nstringData: {a: b}")
	newDocs := append([]string{configMap("m0", "changed"), configMap("fresh", "v")}, maps(5)[2:]...)
	lastDocs := append([]string{newDocs[0]}, newDocs[2:]...)
	for _, answer := range []bool{false, true} {
		finished := false
		for n := int64(1); !finished; n++ {
			service := newService("d1")
			b.engine = b.restart(nil)
			b.pass(service, oldDocs...)
			service.TarballDigest = "d2"

			killed := b.restart(cut(n, answer))
			_, err := killed.Pass(t.Context(), b.permit(killed, service), service, objects(t, newDocs...))
			finished = err == nil
			if state, _ := b.restart(nil).State(service.ID); !finished && state.TarballDigest == "d2" && !answer {
				t.Fatalf("killed at request %d and called applied", n)
			}
			// The next revision does not need what the killed agent may just have
			// created.
			b.engine = b.restart(nil)
			service.TarballDigest = "d3"
			result := b.pass(service, lastDocs...)
			if result.Phase != apply.PhaseApplied || b.count(service.Namespace) != 4 {
				t.Fatalf("killed at request %d (answer lost: %v): %+v, %d objects", n, answer, result, b.count(service.Namespace))
			}
			if _, err := b.admin.CoreV1().Secrets(service.Namespace).Get(t.Context(), "old", metav1.GetOptions{}); err == nil {
				t.Fatalf("killed at request %d: an object is left over", n)
			}
			if n > 40 {
				t.Fatal("a small pass takes more than 40 requests")
			}
		}
	}
}

func TestAPIServerAwayChangesNothingAndHeals(t *testing.T) {
	cluster := kube.New(t, kube.ClusterConfig{Audit: true})
	b := bedOn(t, cluster, nil)
	service := newService("d1")
	b.pass(service, maps(3)...)
	cluster.Stop()
	service.TarballDigest = "d2"
	result, err := b.engine.Pass(t.Context(), b.permit(b.engine, service), service, objects(t, configMap("m0", "new")))
	if !errcode.Is(err, errcode.Unavailable) || result.Reason != apply.ReasonAPIServer || result.Again == 0 {
		t.Errorf("%+v %v", result, err)
	}
	if _, err := b.engine.Drain(t.Context(), b.permit(b.engine, service), service); !errcode.Is(err, errcode.Unavailable) {
		t.Errorf("drain: %v", err)
	}
	if err := cluster.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually.For(t, time.Minute, "the pass succeeds once the API server is back", func() error {
		result, err := b.engine.Pass(t.Context(), b.permit(b.engine, service), service, objects(t, configMap("m0", "new")))
		if err == nil && result.Phase != apply.PhaseApplied {
			return fmt.Errorf("%+v", result)
		}
		return err
	})
	if m, err := b.configMap(service.Namespace, "m0"); err != nil || m.Data["key"] != "new" || b.count(service.Namespace) != 1 {
		t.Errorf("%v %v", m, err)
	}
}

func TestTerminatingNamespaceIsToldAndOvercome(t *testing.T) {
	cluster := kube.New(t, kube.ClusterConfig{Controllers: true, Audit: true})
	b := bedOn(t, cluster, nil)
	service := newService("d1")
	b.pass(service, configMap("a", "v", "finalizers: [example.org/hold]"))
	if err := b.admin.CoreV1().Namespaces().Delete(t.Context(), service.Namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	result := b.pass(service, configMap("a", "v", "finalizers: [example.org/hold]"), configMap("b", "v"))
	if result.Sync != apply.SyncFailed || result.Again > 15*time.Second {
		t.Errorf("%+v", result)
	}
	if _, err := b.admin.CoreV1().ConfigMaps(service.Namespace).Patch(t.Context(), "a", "application/merge-patch+json",
		[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually.For(t, time.Minute, "the namespace is made again", func() error {
		if result = b.pass(service, configMap("a", "v"), configMap("b", "v")); result.Phase != apply.PhaseApplied {
			return fmt.Errorf("%+v", result)
		}
		return nil
	})
}

func TestTwoAgentsOnOneInventoryAreTold(t *testing.T) {
	b := newBed(t, nil)
	service := newService("d1")
	b.pass(service, maps(2)...)
	other := b.restart(nil)
	b.pass(service, maps(3)...)
	_, err := other.Pass(t.Context(), b.permit(other, service), service, objects(t, maps(4)...))
	if !errcode.Is(err, errcode.Conflict) {
		t.Fatalf("the second agent's write: %v", err)
	}
	if _, err = other.Pass(t.Context(), b.permit(other, service), service, objects(t, maps(4)...)); err != nil {
		t.Errorf("after reading it again: %v", err)
	}
}
