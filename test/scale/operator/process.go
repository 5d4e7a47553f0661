package operator

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/axle-cd/axle/internal/child"
	"github.com/axle-cd/axle/test/bin"
)

// process is the operator's.
type process struct {
	program, log string
	args         []string
	command      *exec.Cmd
	ended        chan struct{}
}

// newProcess builds the operator, which start starts.
func newProcess(ctx context.Context, b *bench) (*process, error) {
	program, err := bin.Path(ctx, "axle-operator", bin.Options{})
	if err != nil {
		return nil, err
	}
	kubeconfig, err := b.w.Cluster(management).KubeconfigFor(user)
	if err != nil {
		return nil, err
	}
	return &process{program: program, log: filepath.Join(b.w.Dir, "operator.log"), args: []string{
		"run", "--kubeconfig", kubeconfig, "--hub-url", b.gate.URL, "--token-file", b.tokenFile(),
		"--metrics-listen", "off", "--health-listen", "off",
	}}, nil
}

func (p *process) start() error {
	log, err := os.OpenFile(p.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	command := exec.Command(p.program, p.args...)
	command.Stdout, command.Stderr = log, log
	if err := child.Start(command); err != nil {
		return err
	}
	ended := make(chan struct{})
	p.command, p.ended = command, ended
	go func() {
		_ = command.Wait() // killed, or its log says why it ended
		close(ended)
	}()
	return nil
}

// kill ends it at once, if it runs.
func (p *process) kill() {
	if p == nil || p.command == nil {
		return
	}
	_ = child.Kill(p.command) // it may have ended itself
	<-p.ended
}

// gate is a proxy of the hub that counts calls.
type gate struct {
	*httptest.Server
	mu    sync.Mutex
	calls int
	last  time.Time
}

func newGate(hub string, web *http.Client) (*gate, error) {
	at, err := url.Parse(hub)
	if err != nil {
		return nil, err
	}
	g := &gate{}
	proxy := httputil.NewSingleHostReverseProxy(at)
	proxy.Transport = web.Transport
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		g.calls, g.last = g.calls+1, time.Now()
		g.mu.Unlock()
		proxy.ServeHTTP(w, r)
	}))
	return g, nil
}

func (g *gate) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.calls
}

// quiet is how long ago the last call was.
func (g *gate) quiet() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return time.Since(g.last)
}
