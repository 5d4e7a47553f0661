package kubeclient

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/internal/kubeobj"
)

func TestGateHalvesWhenThrottledAndGrowsAgain(t *testing.T) {
	g := NewGate(8)
	free := func() int {
		n := 0
		for float64(g.busy) < g.limit {
			if err := g.enter(t.Context()); err != nil {
				t.Fatal(err)
			}
			n++
		}
		for range n {
			g.busy--
		}
		return n
	}
	if n := free(); n != 8 {
		t.Fatalf("%d places, want 8", n)
	}
	for range 2 {
		g.busy++
		g.leave(true)
	}
	if n := free(); n != 2 {
		t.Errorf("%d places after two refusals, want 2", n)
	}
	for range 200 {
		g.busy++
		g.leave(false)
	}
	if n := free(); n != 8 {
		t.Errorf("%d places after a calm time, want 8", n)
	}
	g.busy = 8
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.enter(ctx); err == nil || len(g.waiting) != 0 {
		t.Errorf("a caller that gave up still waits: %v, %d", err, len(g.waiting))
	}
}

// The API server's request to slow down is followed, and is not a failure.
func TestBusyAPIServerIsAskedAgain(t *testing.T) {
	for name, status := range map[string]int{"throttled": http.StatusTooManyRequests, "gateway timeout": http.StatusGatewayTimeout, "unavailable": http.StatusServiceUnavailable} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if calls.Add(1) < 3 {
					w.WriteHeader(status)
					fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"reason":%q}`, status,
						map[int]string{429: "TooManyRequests", 504: "Timeout", 503: "ServiceUnavailable"}[status])
					return
				}
				fmt.Fprint(w, `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a","uid":"u"}}`)
			}))
			defer server.Close()
			c, err := NewSender(&rest.Config{Host: server.URL}, NewGate(4))
			if err != nil {
				t.Fatal(err)
			}
			meta, err := c.Get(t.Context(), kubeobj.Kind{Version: "v1", Kind: "Secret", Resource: "secrets", Namespaced: true}, kubeobj.Ref{Kind: "Secret", Namespace: "n", Name: "a"})
			if err != nil || meta == nil || meta.UID != "u" || calls.Load() != 3 {
				t.Errorf("%v %v after %d calls", meta, err, calls.Load())
			}
			if limit := c.gate.limit; (limit < 4) != (status == http.StatusTooManyRequests) {
				t.Errorf("the gate stands at %v", limit)
			}
		})
	}
}
