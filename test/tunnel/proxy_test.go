package tunnel_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/gitserver"
)

// TestTunnelGoesThroughProxies dials through an HTTP proxy with a password and
// through SOCKS.
func TestTunnelGoesThroughProxies(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"http", "socks5"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			p, err := gitserver.StartProxy(t.Context(), scheme, "ann", "secret")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = p.Close() })
			u, err := url.Parse(p.URL())
			if err != nil {
				t.Fatal(err)
			}
			u.User = url.UserPassword("ann", "secret")
			h := startHub(t, newDirectory("c1"), nil)
			transport := transportFor(h.server)
			transport.Proxy = http.ProxyURL(u)
			startAgent(t, dialer(h.url(), transport, "c1"), echo, nil)
			up(t, h, "c1")
			mustAsk(t, h, "c1", big[:1<<20])
			if len(p.Log()) == 0 {
				t.Error("the proxy saw nothing")
			}
		})
	}
}

// says waits until an agent reports why there is no tunnel.
func says(t testing.TB, a *agent, text string) {
	t.Helper()
	eventually.For(t, soon, "the agent says "+text, func() error {
		if err := a.Status().Err; err == nil || !strings.Contains(err.Error(), text) {
			return fmt.Errorf("it says %v", err)
		}
		return nil
	})
}

// TestBufferingProxyIsNamed buffers the hub's data after the upgrade.
func TestBufferingProxyIsNamed(t *testing.T) {
	t.Parallel()
	h := startHub(t, newDirectory("c1"), nil)
	// It ends the TLS, reads the answer's head and then waits for a megabyte.
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: h.server.TLS.Certificates})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go buffering(in, h.server.Listener.Addr().String())
		}
	}()
	a := startAgent(t, dialer("https://"+l.Addr().String(), transportFor(h.server), "c1"), echo, func(c *agentConfig) { c.HelloWithin = 500 * time.Millisecond })
	says(t, a, "a proxy on the way buffers")
}

func buffering(in net.Conn, to string) {
	defer in.Close()
	out, err := tls.Dial("tcp", to, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // a bad proxy
	if err != nil {
		return
	}
	defer out.Close()
	go func() { _, _ = io.Copy(out, in) }()
	answer := bufio.NewReader(out)
	for {
		line, err := answer.ReadString('\n')
		if err != nil {
			return
		}
		if _, err := io.WriteString(in, line); err != nil {
			return
		}
		if line == "\r\n" {
			break
		}
	}
	kept := make([]byte, 1<<20)
	if n, err := io.ReadFull(answer, kept); err == nil {
		_, _ = in.Write(kept[:n])
	}
}

// TestWaysWithoutWebSocketAreNamed meets what answers in the hub's place.
func TestWaysWithoutWebSocketAreNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		says   string
	}{
		"a portal":              {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>log in") }, "the answer was HTTP 200, not a switch of protocols"},
		"a gateway":             {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, "the answer was HTTP 502"},
		"a hub without tunnels": {problem(http.StatusNotFound, "not_found"), "does not support tunnels; upgrade it"},
		"a busy hub":            {problem(http.StatusServiceUnavailable, "unavailable"), "the hub accepts no tunnels now: some words"},
		"a switch by another": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Connection", "Upgrade")
			w.Header().Set("Upgrade", "websocket")
			w.WriteHeader(http.StatusSwitchingProtocols)
		}, "answers in the hub's place"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewTLSServer(c.answer)
			t.Cleanup(s.Close)
			says(t, startAgent(t, dialer(s.URL, transportFor(s), "c1"), echo, nil), c.says)
		})
	}
}

func problem(status int, code string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"code":%q,"message":"some words"}`, code)
	}
}

// TestUnknownAuthorityIsNamed dials a hub whose certificate is not trusted; all other
// tests trust a private authority.
func TestUnknownAuthorityIsNamed(t *testing.T) {
	t.Parallel()
	h := startHub(t, newDirectory("c1"), nil)
	a := startAgent(t, dialer(h.url(), agentTransport(&http.Transport{}), "c1"), echo, nil)
	says(t, a, "certificate signed by unknown authority")
}

// TestRequestsThatAreNoTunnelAreExplained asks the hub's end by hand.
func TestRequestsThatAreNoTunnelAreExplained(t *testing.T) {
	t.Parallel()
	h := startHub(t, newDirectory("c1"), nil)
	for name, c := range map[string]struct {
		header map[string]string
		status int
		says   string
	}{
		"no token":   {nil, http.StatusUnauthorized, "the token is not known"},
		"no upgrade": {map[string]string{"Authorization": "Bearer axle_c1"}, http.StatusBadRequest, "no Upgrade header"},
		"a version":  {map[string]string{"Authorization": "Bearer axle_c1", "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "8"}, http.StatusBadRequest, "version 13"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.url()+"/agent/v1/tunnel", nil)
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range c.header {
			r.Header.Set(k, v)
		}
		answer, err := transportFor(h.server).RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != c.status || !strings.Contains(string(text), c.says) {
			t.Errorf("%s: HTTP %d, %s", name, answer.StatusCode, text)
		}
	}
}
