package stack

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"
)

// tunnelPath is where agents open their tunnels.
const tunnelPath = "/agent/v1/tunnel"

// way is an ingress between the agent of one cluster and the hub, that can be told to
// let no tunnel through: the agent polls and reports as before.
type way struct {
	// URL is where the agent dials.
	URL string

	hub    *httputil.ReverseProxy
	server *http.Server
	ended  chan error

	mu    sync.Mutex
	open  context.Context // of the tunnels
	close context.CancelFunc
}

func newWay(hub string) (*way, error) {
	target, err := url.Parse(hub)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &way{URL: "http://" + l.Addr().String(), ended: make(chan error, 1)}
	w.hub = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	w.server = &http.Server{Handler: w, ReadHeaderTimeout: 10 * time.Second}
	w.mend()
	go func() { w.ended <- w.server.Serve(l) }()
	return w, nil
}

// cut ends the tunnel and refuses others until mend.
func (w *way) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.close()
}

func (w *way) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open == nil || w.open.Err() != nil {
		w.open, w.close = context.WithCancel(context.Background())
	}
}

// ServeHTTP implements http.Handler.
func (w *way) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if r.URL.Path != tunnelPath {
		w.hub.ServeHTTP(rw, r)
		return
	}
	w.mu.Lock()
	open := w.open
	w.mu.Unlock()
	if open.Err() != nil {
		rw.WriteHeader(http.StatusBadGateway)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(open, cancel)()
	w.hub.ServeHTTP(rw, r.WithContext(ctx))
}

func (w *way) end() error {
	w.cut()
	err := w.server.Close()
	if served := <-w.ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
