package world

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// lookEvery is how often a front asks its replicas whether they are ready.
const lookEvery = 500 * time.Millisecond

// Front is the load balancer before several replicas: request by request to
// the next one that is ready, so that one client meets them all in turn.
type Front struct {
	// URL is where agents and people dial.
	URL string

	server  *http.Server
	next    atomic.Uint64
	looks   context.Context
	stop    context.CancelFunc
	looking sync.WaitGroup

	mu      sync.Mutex
	targets []*target
}

type target struct {
	url   *url.URL
	ready atomic.Bool
	proxy *httputil.ReverseProxy
}

// errNoReplica is answered as 503.
var errNoReplica = errors.New("no replica is ready")

// NewFront starts a front for the URLs, on an address or, when it is empty, on
// a free port. Close ends it.
func NewFront(address string, urls []string) (*Front, error) {
	if address == "" {
		address = "127.0.0.1:0"
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	f := &Front{URL: "http://" + listener.Addr().String()}
	f.looks, f.stop = context.WithCancel(context.Background())
	for _, text := range urls {
		if err := f.Add(text); err != nil {
			f.stop()
			return nil, errors.Join(err, listener.Close())
		}
	}
	f.server = &http.Server{Handler: f, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = f.server.Serve(listener) }()
	return f, nil
}

// Add puts one more replica behind the front.
func (f *Front) Add(text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return err
	}
	t := newTarget(u)
	t.ready.Store(t.ask(f.looks))
	f.mu.Lock()
	f.targets = append(f.targets, t)
	f.mu.Unlock()
	f.looking.Go(func() { t.look(f.looks) })
	return nil
}

func newTarget(u *url.URL) *target {
	t := &target{url: u}
	t.proxy = &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(u); r.Out.Host = r.In.Host },
		FlushInterval: -1,
		Transport:     &http.Transport{MaxIdleConnsPerHost: 64},
		ErrorLog:      log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			// As load balancers do: whoever tries again does not come to the one that has ended.
			if errors.Is(err, syscall.ECONNREFUSED) {
				t.ready.Store(false)
			}
			w.WriteHeader(http.StatusBadGateway)
		},
	}
	return t
}

// look asks for readiness until the context ends.
func (t *target) look(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		t.ready.Store(t.ask(ctx))
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (t *target) ask(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, t.url.String()+"/readyz", nil)
	if err != nil {
		return false
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// ServeHTTP passes a request to the next ready replica.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	targets := f.targets
	f.mu.Unlock()
	for range targets {
		t := targets[f.next.Add(1)%uint64(len(targets))]
		if t.ready.Load() {
			t.proxy.ServeHTTP(w, r)
			return
		}
	}
	w.Header().Set("Retry-After", "1")
	http.Error(w, errNoReplica.Error(), http.StatusServiceUnavailable)
}

// Close ends the front.
func (f *Front) Close() error {
	if f == nil {
		return nil
	}
	f.stop()
	f.looking.Wait()
	return f.server.Close()
}
