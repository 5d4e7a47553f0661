package pg

import (
	"context"
	"os"
	"sync"

	"github.com/axle-cd/axle/internal/gctuning"
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
	// filled are the databases that those of NewLike are copies of.
	filled map[string]string
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

// NewLike is New for a database that is not empty: the first caller of a kind
// fills one, and all get copies of that, which take as long as an empty one.
// fill leaves no connection open.
func NewLike(tb TB, kind string, fill func(url string) error) string {
	tb.Helper()
	server, err := Shared()
	if err != nil {
		tb.Fatalf("%v", err)
	}
	template, err := filled(tb.Context(), server, kind, fill)
	if err != nil {
		tb.Fatalf("fill a database of kind %s: %v", kind, err)
	}
	name, err := server.cloneOf(tb.Context(), template)
	if err != nil {
		tb.Fatalf("%v", err)
	}
	tb.Cleanup(server.dropping(tb.Context(), name))
	return server.URL(name)
}

func filled(ctx context.Context, server *Server, kind string, fill func(url string) error) (string, error) {
	shared.Lock()
	defer shared.Unlock()
	if name := shared.filled[kind]; name != "" {
		return name, nil
	}
	name, err := server.cloneOf(ctx, "template0")
	if err != nil {
		return "", err
	}
	if err := fill(server.URL(name)); err != nil {
		return "", err
	}
	if err := server.unused(ctx, name); err != nil {
		return "", err
	}
	if shared.filled == nil {
		shared.filled = map[string]string{}
	}
	shared.filled[kind] = name
	return name, nil
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
// Garbage is collected as in our short commands, of which a test binary is one.
func Main(m interface{ Run() int }) {
	gctuning.Brief(context.Background())
	code := m.Run()
	shared.Lock()
	defer shared.Unlock()
	if shared.server != nil {
		_ = shared.server.Close() // the result of the tests matters, not this
	}
	os.Exit(code)
}
