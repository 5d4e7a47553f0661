package apply_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/axle-cd/axle/agent/apply"
)

// hasty is another writer that is always slightly faster: right before the agent's
// writes of one object it changes the object, as long as it has changes left.
type hasty struct {
	next   http.RoundTripper
	suffix string
	left   atomic.Int64
	change func(n int64)
}

func (h *hasty) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, h.suffix) {
		if n := h.left.Add(-1); n >= 0 {
			h.change(n)
		}
	}
	return h.next.RoundTrip(r)
}

// A controller that starts pods writes an object's status many times a second. The
// agent's read is then outdated when it writes: it reads again, more often than such
// a burst lasts, and in the end reports that it did not succeed.
func TestABurstOfOtherWritesIsOutlasted(t *testing.T) {
	b := newBed(t, nil)
	for writes, wins := range map[int64]bool{6: true, 1000: false} {
		t.Run(fmt.Sprint(writes), func(t *testing.T) {
			s := newService("d1")
			s.Strict = true
			other := func(manager, body string) {
				_, err := b.admin.CoreV1().ConfigMaps(s.Namespace).Patch(t.Context(), "one", types.MergePatchType, []byte(body), metav1.PatchOptions{FieldManager: manager})
				if err != nil {
					t.Error(err)
				}
			}
			busy := &hasty{suffix: "/configmaps/one", change: func(n int64) {
				other("busy-controller", fmt.Sprintf(`{"metadata":{"annotations":{"example.org/turn":"%d"}}}`, n))
			}}
			engine := b.restart(func(cfg *apply.Config) {
				cfg.REST.WrapTransport = func(next http.RoundTripper) http.RoundTripper {
					busy.next = next
					return busy
				}
			})
			if _, err := engine.Pass(t.Context(), b.permit(engine, s), s, objects(t, configMap("one", "v1"))); err != nil {
				t.Fatal(err)
			}
			other("kubectl-edit", `{"data":{"by-hand":"yes"}}`)
			busy.left.Store(writes)
			result, err := engine.Pass(t.Context(), b.permit(engine, s), s, objects(t, configMap("one", "v1")))
			if err != nil {
				t.Fatal(err)
			}
			o, err := b.configMap(s.Namespace, "one")
			if err != nil {
				t.Fatal(err)
			}
			_, left := o.Data["by-hand"]
			if applied := result.Phase == apply.PhaseApplied; applied != wins || left == wins {
				t.Errorf("after %d writes of somebody else: %+v, %v", writes-busy.left.Load(), result, o.Data)
			}
			if !wins && (result.Again == 0 || result.Again > 15*time.Second || writes-busy.left.Load() > 10) {
				t.Errorf("%d tries, and again after %v", writes-busy.left.Load(), result.Again)
			}
		})
	}
}
