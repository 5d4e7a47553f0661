package pg

import (
	"context"
	"os"
	"sync"
)

// TB is what New needs; *testing.T has it.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
	Cleanup(func())
	Context() context.Context
}

var shared struct {
	sync.Mutex
	server *Server
}

// New returns the URL of an empty database for one test, on the server of this
// test binary, which the first call starts. The database goes with the test;
// Main ends the server.
func New(tb TB) string {
	tb.Helper()
	server, err := Shared()
	if err != nil {
		tb.Fatalf("%v", err)
	}
	url, drop, err := server.Clone(tb.Context())
	if err != nil {
		tb.Fatalf("%v", err)
	}
	tb.Cleanup(drop)
	return url
}

// Shared returns the server of this process, started when it is not yet.
func Shared() (*Server, error) {
	shared.Lock()
	defer shared.Unlock()
	if shared.server != nil {
		return shared.server, nil
	}
	server, err := Start(context.Background())
	if err != nil {
		return nil, err
	}
	shared.server = server
	return server, nil
}

// Main runs a test binary's tests, ends the shared server and exits. A TestMain
// calls it; without one the server dies with the process and leaves its folder.
func Main(m interface{ Run() int }) {
	code := m.Run()
	shared.Lock()
	defer shared.Unlock()
	if shared.server != nil {
		_ = shared.server.Close() // the result of the tests matters, not this
	}
	os.Exit(code)
}
