package hub_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/axle-cd/axle/hub"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/eventually"
)

func TestAnswersProtectBrowsers(t *testing.T) {
	plain := hubtest.New(t, hubtest.Config{})
	safe := hubtest.New(t, hubtest.Config{Hub: hub.Config{DevCA: true}})
	for name, h := range map[string]*hubtest.Hub{"plain": plain, "TLS": safe} {
		client := http.DefaultClient
		if h == safe {
			client = trusting(t, h.CAFile())
		}
		for _, path := range []string{"/", "/healthz", "/login", "/axle.hub.v1.Projects/List", "/k8s/clusters/x/api", "/nowhere/../x"} {
			t.Run(name+path, func(t *testing.T) {
				answer, _ := get(t, client, h.URL+path)
				header := answer.Header
				if header.Get("X-Content-Type-Options") != "nosniff" || header.Get("Referrer-Policy") == "" {
					t.Errorf("%v", header)
				}
				csp := header.Get("Content-Security-Policy")
				if !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") {
					t.Errorf("policy %q", csp)
				}
				if hsts := header.Get("Strict-Transport-Security"); (hsts != "") != (h == safe) {
					t.Errorf("HSTS %q", hsts)
				}
			})
		}
	}
}

// hostile is what an attacker does on each connection; attack returns once it
// is running.
type hostile struct {
	connections int
	attack      func(t *testing.T, c net.Conn) error
	// closed means that the hub must end the connection.
	closed bool
}

// h2 begins HTTP/2 on a plain connection.
func h2(c net.Conn) (*http2.Framer, error) {
	if _, err := c.Write([]byte(http2.ClientPreface)); err != nil {
		return nil, err
	}
	f := http2.NewFramer(c, c)
	return f, f.WriteSettings()
}

func headers(more ...string) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	all := append([]string{":method", "GET", ":scheme", "http", ":authority", "x", ":path", "/healthz"}, more...)
	for i := 0; i+1 < len(all); i += 2 {
		if err := e.WriteField(hpack.HeaderField{Name: all[i], Value: all[i+1]}); err != nil {
			panic(err)
		}
	}
	return b.Bytes()
}

// whoAmI makes a call as people's programs do.
func whoAmI(t *testing.T, client *http.Client, h *hubtest.Hub) error {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL+"/axle.hub.v1.Sessions/WhoAmI", strings.NewReader("{}"))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+h.AdminToken)
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %w", answer.Status, err)
	}
	return nil
}

// Whatever strangers do on their connections, others are served. Times are not
// judged, except that each honest call has an end.
func TestStrangersDoNotStopOthers(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{})
	u, err := url.Parse(h.URL)
	if err != nil {
		t.Fatal(err)
	}
	attacks := map[string]hostile{
		"headers that never end": {connections: 100, closed: true, attack: func(_ *testing.T, c net.Conn) error {
			_, err := c.Write([]byte("GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: a"))
			return err
		}},
		"a preface and nothing": {connections: 50, attack: func(_ *testing.T, c net.Conn) error {
			_, err := h2(c)
			return err
		}},
		"a body that never ends": {connections: 100, attack: func(_ *testing.T, c net.Conn) error {
			_, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{", "/axle.hub.v1.Projects/Create")
			return err
		}},
		"a header of a megabyte": {connections: 5, closed: true, attack: func(t *testing.T, c net.Conn) error {
			go func() {
				// The hub answers and closes before it has read everything.
				_, _ = fmt.Fprintf(c, "GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: %s\r\n\r\n", strings.Repeat("a", 1<<20))
			}()
			answer, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				// A reset may overtake the answer.
				return nil //nolint:nilerr // closed is checked next
			}
			if answer.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
				t.Errorf("status %d", answer.StatusCode)
			}
			return answer.Body.Close()
		}},
		"continuations that never end": {connections: 3, closed: true, attack: func(_ *testing.T, c net.Conn) error {
			f, err := h2(c)
			if err != nil {
				return err
			}
			if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: headers()}); err != nil {
				return err
			}
			piece := headers("x-a", strings.Repeat("a", 8<<10))
			for range 500 {
				if err := f.WriteContinuation(1, false, piece); err != nil {
					return nil //nolint:nilerr // the hub closed the connection
				}
			}
			return nil
		}},
		"streams opened and reset": {connections: 3, attack: func(_ *testing.T, c net.Conn) error {
			f, err := h2(c)
			if err != nil {
				return err
			}
			go func() { _, _ = io.Copy(io.Discard, c) }()
			for i := range uint32(10_000) {
				if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*i + 1, BlockFragment: headers(), EndHeaders: true, EndStream: true}); err != nil {
					return nil //nolint:nilerr // the hub closed the connection
				}
				if err := f.WriteRSTStream(2*i+1, http2.ErrCodeCancel); err != nil {
					return nil //nolint:nilerr // as above
				}
			}
			return nil
		}},
		"settings and pings without end": {connections: 3, attack: func(_ *testing.T, c net.Conn) error {
			f, err := h2(c)
			if err != nil {
				return err
			}
			// The answers are not read.
			for range 30_000 {
				if err := errors.Join(f.WriteSettings(), f.WritePing(false, [8]byte{})); err != nil {
					return nil //nolint:nilerr // the hub closed the connection
				}
			}
			return nil
		}},
	}
	honest := &http.Client{Timeout: limit, Transport: &http.Transport{DisableKeepAlives: true}}
	for name, a := range attacks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var dialer net.Dialer
			conns := make([]net.Conn, a.connections)
			for i := range conns {
				c, err := dialer.DialContext(t.Context(), "tcp", u.Host)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				// An attack that the hub stops reading must not hang the test.
				if err := c.SetDeadline(time.Now().Add(limit)); err != nil {
					t.Fatal(err)
				}
				conns[i] = c
				if err := a.attack(t, c); err != nil {
					t.Fatal(err)
				}
			}
			for range 5 {
				if answer, body := get(t, honest, h.URL+"/readyz"); answer.StatusCode != http.StatusOK {
					t.Errorf("status %d: %s", answer.StatusCode, body)
				}
				if err := whoAmI(t, honest, h); err != nil {
					t.Error(err)
				}
			}
			if !a.closed {
				return
			}
			for _, c := range conns {
				eventually.For(t, limit, "the hub ends the connection", func() error {
					buffer := make([]byte, 4096)
					for {
						if _, err := c.Read(buffer); err != nil {
							var late net.Error
							if errors.As(err, &late) && late.Timeout() {
								return err
							}
							return nil
						}
					}
				})
			}
		})
	}
}
