package tunnel_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
)

// TestProbeTakesNoTunnel checks whether a WebSocket gets through, while an agent's
// tunnel is up: without a token, and without affecting the tunnel.
func TestProbeTakesNoTunnel(t *testing.T) {
	t.Parallel()
	h := startHub(t, newDirectory("c1"), nil)
	a := startAgent(t, dialer(h.url(), transportFor(h.server), "c1"), echo, nil)
	up(t, h, "c1")
	_, since := h.State("c1")
	dials := a.Status().Dials
	for range 20 {
		if err := probe(t, h.url(), h.server); err != nil {
			t.Fatal(err)
		}
	}
	mustAsk(t, h, "c1", "hello")
	if now, at := h.State("c1"); now != isUp || at != since || a.Status().Dials != dials {
		t.Errorf("the tunnel is %s since %d, dialled %d times; it was Up since %d, dialled %d times", now, at, a.Status().Dials, since, dials)
	}
}

// TestProbeNamesWhatIsInTheWay asks a real hub through what real networks put
// before it.
func TestProbeNamesWhatIsInTheWay(t *testing.T) {
	t.Parallel()
	h := startHub(t, newDirectory("c1"), nil)
	target, err := url.Parse(h.url())
	if err != nil {
		t.Fatal(err)
	}
	pass := &httputil.ReverseProxy{Transport: transportFor(h.server), Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	for name, c := range map[string]struct {
		front http.HandlerFunc
		code  errcode.Code
		says  string
	}{
		"one that passes it on": {pass.ServeHTTP, "", ""},
		"one that loses Upgrade": {func(w http.ResponseWriter, r *http.Request) {
			r.Header.Del("Upgrade")
			r.Header.Del("Connection")
			pass.ServeHTTP(w, r)
		}, errcode.Invalid, "no Upgrade header"},
		"one that forbids it": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "policy", http.StatusForbidden) }, errcode.Conflict, "HTTP 403"},
		"a portal":            {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>log in") }, errcode.Conflict, "HTTP 200"},
		"a hub that is busy":  {problem(http.StatusServiceUnavailable, "unavailable"), errcode.Exhausted, "takes no WebSocket now: some words"},
	} {
		s := httptest.NewTLSServer(c.front)
		t.Cleanup(s.Close)
		err := probe(t, s.URL, s)
		if c.code == "" && err == nil {
			continue
		}
		if err == nil || errcode.Of(err) != c.code || !strings.Contains(errcode.Message(err), c.says) {
			t.Errorf("%s: %v, want %s and %q", name, err, c.code, c.says)
		}
	}
	old := httptest.NewTLSServer(problem(http.StatusUnauthorized, "unauthorized"))
	t.Cleanup(old.Close)
	if err := probe(t, old.URL, old); !errors.Is(err, errOldHub) {
		t.Errorf("a hub that wants a token: %v", err)
	}
}

// TestProbesAreFew opens as many probes as one address may: the next is told to retry, and
// tunnels are still accepted.
func TestProbesAreFew(t *testing.T) {
	t.Parallel()
	h := startHub(t, newDirectory("c1"), nil)
	held, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 8 {
		silent := agentDialer{URL: h.url(), Transport: probing{transportFor(h.server)}, Authorization: func() string { return "" }}
		conn, err := silent.Dial(held)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	if err := probe(t, h.url(), h.server); err == nil || !strings.Contains(err.Error(), "(pool tunnel_probes)") {
		t.Errorf("one more was answered with %v", err)
	}
	startAgent(t, dialer(h.url(), transportFor(h.server), "c1"), echo, nil)
	up(t, h, "c1")
	eventually.For(t, soon, "silent probes end by themselves", func() error { return probe(t, h.url(), h.server) })
}

// probing makes a dial a probe that says nothing.
type probing struct{ http.RoundTripper }

func (p probing) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set("Axle-Tunnel", "probe")
	return p.RoundTripper.RoundTrip(r)
}

func probe(t testing.TB, url string, s *httptest.Server) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	transport := transportFor(s)
	defer transport.CloseIdleConnections()
	return agentProbe(ctx, transport, url)
}
