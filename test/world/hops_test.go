package world_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/axle-cd/axle/test/gitserver"
)

// hops stands between an agent and its hub, passes everything on, WebSockets
// too, and notes when each request came and when it was answered.
type hops struct {
	// URL is where the agent dials.
	URL string

	mu  sync.Mutex
	all []hop
}

// hop is one request on the way of a push.
type hop struct {
	what         string
	began, ended time.Time
}

func newHops(t *testing.T, hub string) *hops {
	t.Helper()
	target, err := url.Parse(hub)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &hops{URL: "http://" + listener.Addr().String()}
	pass := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		what, began := nameOf(r.URL.Path), time.Now()
		pass.ServeHTTP(w, r)
		h.note(what, began, time.Now())
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return h
}

func nameOf(p string) string {
	if strings.Contains(p, "/tarballs/") {
		return "tarball"
	}
	return path.Base(p)
}

func (h *hops) note(what string, began, ended time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, hop{what, began, ended})
}

// of are the hops since a push: its own, upstream's, and the agent's.
func (h *hops) of(pushed time.Time, upstream []gitserver.Event) []hop {
	h.mu.Lock()
	all := slices.Clone(h.all)
	h.mu.Unlock()
	for _, e := range upstream {
		if !e.End.IsZero() {
			all = append(all, hop{string(e.Kind), e.Start, e.End})
		}
	}
	all = slices.DeleteFunc(all, func(h hop) bool { return h.began.Before(pushed) })
	slices.SortFunc(all, func(a, b hop) int { return a.began.Compare(b.began) })
	return all
}

// shown is a line with the time of each hop since the push.
func shown(pushed time.Time, hops []hop) string {
	var b strings.Builder
	for _, h := range hops {
		fmt.Fprintf(&b, " %s %d-%d", h.what, h.began.Sub(pushed).Milliseconds(), h.ended.Sub(pushed).Milliseconds())
	}
	return b.String()
}

// first returns when the first hop of a name began.
func first(hops []hop, what string) (time.Time, bool) {
	i := slices.IndexFunc(hops, func(h hop) bool { return h.what == what })
	if i < 0 {
		return time.Time{}, false
	}
	return hops[i].began, true
}
