package tunnel_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"runtime/pprof"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/eventually"
)

// TestMain fails when goroutines are left after all ends were closed.
func TestMain(m *testing.M) {
	before := runtime.NumGoroutine()
	code := m.Run()
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
	err := eventually.Wait(context.Background(), eventually.Loaded(20*time.Second), func() error {
		if n := runtime.NumGoroutine(); n > before {
			return fmt.Errorf("%d goroutines, %d before", n, before)
		}
		return nil
	})
	if err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, "goroutines are left:", err)
		_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
		code = 1
	}
	os.Exit(code)
}
