package drift

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/internal/kubepage"
)

// A comparison of objects that cannot be watched breaks off where the API server
// has no answer, and is made again soon; one that is forbidden is not.
func TestABrokenComparisonIsMadeAgain(t *testing.T) {
	for status, again := range map[int]bool{http.StatusInternalServerError: true, http.StatusServiceUnavailable: true, http.StatusForbidden: false} {
		var answer atomic.Int32
		answer.Store(int32(status))
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(answer.Load())) }))
		defer server.Close()
		c := newConflict(t)
		var err error
		if c.rest, err = kubepage.NewClient(&rest.Config{Host: server.URL}); err != nil {
			t.Fatal(err)
		}
		c.kind.state = unknown
		c.run(t)
		answer.Store(http.StatusNotFound)
		c.run(t)
		if c.keeper.heals != 0 {
			t.Fatalf("%d: %d heals by a comparison that was not made", status, c.keeper.heals)
		}
		c.clock.now = c.clock.now.Add(idle)
		c.run(t)
		if (c.keeper.heals == 1) != again {
			t.Errorf("%d: %d heals after %v", status, c.keeper.heals, idle)
		}
		c.clock.now = c.clock.now.Add(compareEvery)
		c.run(t)
		if c.keeper.heals == 0 {
			t.Errorf("%d: the deletion is never seen", status)
		}
	}
}
