package port_test

import (
	"sync"
	"testing"

	"github.com/axle-cd/axle/test/port"
)

// TestPortsAreGivenOnce: a port is closed before it is returned, so that only the
// claim keeps it from the next caller.
func TestPortsAreGivenOnce(t *testing.T) {
	t.Parallel()
	const each = 200
	var (
		mu   sync.Mutex
		seen = map[int]bool{}
		wg   sync.WaitGroup
	)
	for range 4 {
		wg.Go(func() {
			for range each {
				number, err := port.Free()
				mu.Lock()
				if err != nil || seen[number] || number >= 32768 {
					t.Errorf("port %d, %v; given before: %v", number, err, seen[number])
				}
				seen[number] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}
