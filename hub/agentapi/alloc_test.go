package agentapi_test

import (
	"net/http"
	"testing"
)

// discard is a response that keeps nothing.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(status int)      { d.status = status }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }

func TestIdlePollAllocatesNextToNothing(t *testing.T) {
	b := newBed(t)
	a := b.register("edge-1")
	_, etag := a.poll()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/agent/v1/desired", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+a.token)
	req.Header.Set("If-None-Match", etag)
	w := &discard{header: http.Header{}}
	n := testing.AllocsPerRun(200, func() {
		clear(w.header)
		b.ServeHTTP(w, req)
	})
	if w.status != http.StatusNotModified {
		t.Fatalf("status %d", w.status)
	}
	// Two are the hash of the token; other parts of the hub may allocate
	// meanwhile.
	if n > 3 {
		t.Errorf("%v allocations", n)
	}
}
