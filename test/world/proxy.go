package world

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Proxy stands between agents and the hub and can be made to misbehave the
// ways that real networks do. It judges nothing.
type Proxy struct {
	// URL is where agents dial.
	URL string

	server *http.Server
	hub    *httputil.ReverseProxy

	mu       sync.Mutex
	portal   bool
	replays  bool
	drop     map[string]Drop
	answers  map[string][]answer
	counts   map[string]int
	replayed map[string]int
}

// Drop says what is lost of requests with a path suffix.
type Drop int

// What can be lost.
const (
	DropNothing Drop = iota
	// DropRequest loses the request before the hub sees it.
	DropRequest
	// DropAnswer loses the answer after the hub has acted.
	DropAnswer
)

type answer struct {
	status int
	header http.Header
	body   []byte
}

// maxAnswers is how many answers of a kind are kept for replaying.
const maxAnswers = 50

// NewProxy starts a proxy in front of the hub; Close ends it.
func (w *World) NewProxy() (*Proxy, error) {
	target, err := url.Parse(w.Origin())
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{URL: "http://" + listener.Addr().String(), drop: map[string]Drop{}, answers: map[string][]answer{}, counts: map[string]int{}, replayed: map[string]int{}}
	p.hub = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, ErrorHandler: func(rw http.ResponseWriter, _ *http.Request, _ error) {
		rw.WriteHeader(http.StatusBadGateway)
	}}
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = p.server.Serve(listener) }()
	return p, nil
}

// Close ends the proxy and all its connections.
func (p *Proxy) Close() error { return p.server.Close() }

// Portal makes every answer a captive portal's page, or ends that.
func (p *Proxy) Portal(on bool) { p.set(func() { p.portal = on }) }

// Replay makes half of all answers older ones of the same kind, or ends that.
func (p *Proxy) Replay(on bool) { p.set(func() { p.replays = on }) }

// Lose loses requests, or answers, of paths that end so.
func (p *Proxy) Lose(suffix string, d Drop) { p.set(func() { p.drop[suffix] = d }) }

func (p *Proxy) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// Count returns how many requests came for paths that end so.
func (p *Proxy) Count(suffix string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for kind, count := range p.counts {
		if strings.HasSuffix(kind, suffix) {
			n += count
		}
	}
	return n
}

// Replayed returns the kinds of requests that were answered with older answers.
func (p *Proxy) Replayed() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := map[string]int{}
	for k, v := range p.replayed {
		out[k] = v
	}
	return out
}

// ServeHTTP forwards a request, or applies the configured fault.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind := kindOf(r.URL.Path)
	p.mu.Lock()
	p.counts[kind]++
	portal, drop := p.portal, p.dropFor(kind)
	p.mu.Unlock()
	if portal {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!doctype html><title>Welcome</title><p>Please accept the terms of this network."))
		return
	}
	if drop == DropRequest {
		hangUp(w)
		return
	}
	rec := &recorder{header: http.Header{}, status: http.StatusOK}
	p.hub.ServeHTTP(rec, r)
	if drop == DropAnswer {
		hangUp(w)
		return
	}
	p.choose(kind, answer{rec.status, rec.header, rec.body.Bytes()}).write(w)
}

// kindOf is the path without what differs between services.
func kindOf(path string) string {
	if before, _, ok := strings.Cut(path, "/tarballs/"); ok {
		return before + "/tarballs"
	}
	return path
}

func (p *Proxy) dropFor(kind string) Drop {
	for suffix, d := range p.drop {
		if strings.HasSuffix(kind, suffix) {
			return d
		}
	}
	return DropNothing
}

// choose remembers an answer and returns it, or when replaying an older one.
func (p *Proxy) choose(kind string, fresh answer) answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.answers[kind]
	if len(old) < maxAnswers {
		p.answers[kind] = append(old, fresh)
	}
	if p.replays && len(old) > 0 && rand.IntN(2) == 0 {
		p.replayed[kind]++
		return old[rand.IntN(len(old))]
	}
	return fresh
}

func (a answer) write(w http.ResponseWriter) {
	for k, v := range a.header {
		w.Header()[k] = v
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
}

// hangUp closes the connection without an answer.
func hangUp(w http.ResponseWriter) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = conn.Close()
	}
}

// recorder holds an answer back until it is known what becomes of it.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }

var _ io.Writer = (*recorder)(nil)
