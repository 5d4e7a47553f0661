package strangers_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/pool"
	"github.com/axle-cd/axle/internal/strangers"
)

// held is a body whose end does not come.
type held struct{ io.Reader }

func (held) Close() error { return nil }

// Places are taken while a body is waited for, and no longer.
func TestPlacesAreFewAndFreedByTheEndOfABody(t *testing.T) {
	gate := strangers.New(nil, "bodies", "bodies")
	answer := func(from, body string, inside http.HandlerFunc) int {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, "/", held{strings.NewReader(body)})
		r.RemoteAddr = from
		gate.Serve(w, r, pool.Stranger(from), 10, inside)
		return w.Code
	}
	refused := 0
	var nest func(n int)
	nest = func(n int) {
		if n == 600 {
			return
		}
		code := answer(fmt.Sprintf("192.0.%d.%d:1", n%200, n%251), "x", func(http.ResponseWriter, *http.Request) { nest(n + 1) })
		if code == http.StatusTooManyRequests {
			refused++
		}
	}
	nest(0)
	if refused != 1 { // the first that finds no place ends the nest
		t.Errorf("%d were refused", refused)
	}
	// All are free again. A body that was read is not waited for.
	for range 3 {
		var inside func(n int)
		inside = func(n int) {
			code := answer("192.0.2.9:1", "x", func(_ http.ResponseWriter, r *http.Request) {
				if text, err := io.ReadAll(r.Body); string(text) != "x" || err != nil {
					t.Errorf("%q, %v", text, err)
				}
				if n < 600 {
					inside(n + 1)
				}
			})
			if code != http.StatusOK {
				t.Fatalf("after %d bodies that were read: %d", n, code)
			}
		}
		inside(0)
	}
	if code := answer("192.0.2.9:1", strings.Repeat("x", 11), func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err == nil {
			t.Error("eleven bytes pass a bound of ten")
		}
		w.WriteHeader(http.StatusTeapot)
	}); code != http.StatusTeapot {
		t.Error(code)
	}
}
