package authproxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/relay"
)

// apiServer answers each request, on its own connection, with serve.
func apiServer(t *testing.T, serve func(conn net.Conn, r *http.Request)) (u *upgrader, ask func(context.Context) *http.Request) {
	t.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		serve(conn, r)
	}))
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	at, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	at.Path = "/exec"
	u = newUpgrader(nil, &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, at.Hostname())
	return u, func(ctx context.Context) *http.Request {
		r := (&http.Request{
			Method: http.MethodGet, URL: at.JoinPath(), Host: at.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}},
		}).WithContext(ctx)
		return r
	}
}

const switching = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"

// write fails the test for a write that fails.
func write(t *testing.T, w io.Writer, text string) {
	if _, err := io.WriteString(w, text); err != nil {
		t.Error(err)
	}
}

// What came with the head, and records that came in one piece, are one read;
// each direction ends by itself.
func TestUpgradedConnectionGivesAllThatIsThere(t *testing.T) {
	heard := make(chan string, 1)
	u, ask := apiServer(t, func(conn net.Conn, r *http.Request) {
		if r.Header.Get("Upgrade") != "websocket" || r.URL.Path != "/exec" {
			t.Errorf("asked %s %v", r.URL, r.Header)
		}
		write(t, conn, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"+switching+"fir"+"st")
		line, err := bufio.NewReader(conn).ReadString('\n')
		if err != nil {
			t.Error(err)
		}
		for _, part := range []string{"one ", "two ", line} {
			write(t, conn, part)
		}
		half, ok := conn.(interface{ CloseWrite() error })
		if !ok || half.CloseWrite() != nil {
			t.Error("the answer did not end")
		}
		rest, err := io.ReadAll(conn)
		if err != nil {
			t.Error(err)
		}
		heard <- string(rest)
	})
	response, err := u.RoundTrip(ask(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	conn, ok := response.Body.(*afterHead)
	if !ok || response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("answered %d with %T", response.StatusCode, response.Body)
	}
	defer conn.Close()
	var source relay.Prompt = conn
	buf := make([]byte, 3)
	if n, err := source.ReadNow(buf); string(buf[:n]) != "fir" || err != nil {
		t.Errorf("behind the head lay %q, %v", buf[:n], err)
	}
	if n, err := source.ReadNow(buf); string(buf[:n]) != "st" || err != nil {
		t.Errorf("behind the head lay %q, %v", buf[:n], err)
	}
	if n, err := source.ReadNow(buf); n != 0 || err != nil {
		t.Errorf("nothing was there, and it gave %q, %v", buf[:n], err)
	}
	write(t, conn, "three\n")
	var came strings.Builder
	if _, err := relay.Copy(&came, conn, nil); err != nil || came.String() != "one two three\n" {
		t.Errorf("it said %q, %v", came.String(), err)
	}
	write(t, conn, "more")
	if err := conn.CloseWrite(); err != nil {
		t.Error(err)
	}
	if rest := <-heard; rest != "more" {
		t.Errorf("after the end of its answer it heard %q", rest)
	}
}

func TestAnswerThatChangesNothingEndsWithItsRequest(t *testing.T) {
	for name, c := range map[string]struct{ answer, want string }{
		"whole":     {"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno", "no"},
		"in chunks": {"HTTP/1.1 500 Oh\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n", "no"},
	} {
		t.Run(name, func(t *testing.T) {
			u, ask := apiServer(t, func(conn net.Conn, _ *http.Request) {
				write(t, conn, c.answer)
				_, _ = io.Copy(io.Discard, conn) // until the other end closes
			})
			response, err := u.RoundTrip(ask(t.Context()))
			if err != nil {
				t.Fatal(err)
			}
			if text, err := io.ReadAll(response.Body); string(text) != c.want || err != nil {
				t.Errorf("read %q, %v", text, err)
			}
			if err := response.Body.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("closed before its end", func(t *testing.T) {
		u, ask := apiServer(t, func(conn net.Conn, _ *http.Request) {
			write(t, conn, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
			_, _ = io.Copy(io.Discard, conn)
		})
		response, err := u.RoundTrip(ask(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		// The rest never comes, and is not waited for.
		if err := response.Body.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Run("given up", func(t *testing.T) {
		u, ask := apiServer(t, func(conn net.Conn, _ *http.Request) {
			write(t, conn, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
			_, _ = io.Copy(io.Discard, conn)
		})
		ctx, cancel := context.WithCancel(t.Context())
		response, err := u.RoundTrip(ask(ctx))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		cancel()
		if text, err := io.ReadAll(response.Body); err == nil {
			t.Errorf("an answer whose request was given up ended as %q", text)
		}
	})
}

func TestUpgradeIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		answer string
		change func(*http.Request)
		want   string
	}{
		"a head without an end":  {answer: "HTTP/1.1 101 Switching Protocols\r\nA: " + strings.Repeat("a", maxAnswerHead), want: "EOF"},
		"answers without an end": {answer: strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", maxInterim), want: "no final one"},
		"no answer":              {want: "EOF"},
		"a header of two lines":  {change: func(r *http.Request) { r.Header["A"] = []string{"b\r\nImpersonate-User: root"} }, want: "control character"},
		"a name of two headers":  {change: func(r *http.Request) { r.Header["A: b\r\nImpersonate-User"] = []string{"root"} }, want: "not a valid header name"},
		"nobody there":           {change: func(r *http.Request) { r.URL.Host = strings.Replace(r.URL.Host, "127.0.0.1", "127.0.0.2", 1) }, want: "connect"},
	} {
		t.Run(name, func(t *testing.T) {
			u, ask := apiServer(t, func(conn net.Conn, _ *http.Request) {
				// The other end may have had enough before all is written.
				_, _ = io.WriteString(conn, c.answer)
			})
			r := ask(t.Context())
			if c.change != nil {
				c.change(r)
			}
			response, err := u.RoundTrip(r)
			if err == nil {
				response.Body.Close()
				t.Fatal("it was taken")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("it was refused with %v, want %q in it", err, c.want)
			}
		})
	}
}

// A certificate for another name, or of another authority, is refused.
func TestUpgradeBelievesOneServer(t *testing.T) {
	u, ask := apiServer(t, func(net.Conn, *http.Request) { t.Error("a request reached a server that is not believed") })
	for name, config := range map[string]*tls.Config{
		"another name":      {RootCAs: u.config.RootCAs, ServerName: "elsewhere.invalid", MinVersion: tls.VersionTLS12},
		"another authority": {RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12},
	} {
		other := newUpgrader(nil, config, "127.0.0.1")
		response, err := other.RoundTrip(ask(t.Context()))
		if err == nil {
			response.Body.Close()
			t.Errorf("%s: it was believed", name)
		}
	}
}

func TestUpgradeEndsWithItsContext(t *testing.T) {
	asked := make(chan struct{})
	u, ask := apiServer(t, func(conn net.Conn, _ *http.Request) {
		close(asked)
		_, _ = io.Copy(io.Discard, conn) // until the other end closes
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	why := fmt.Errorf("the client went away")
	go func() {
		<-asked
		cancel(why)
	}()
	response, err := u.RoundTrip(ask(ctx))
	if err == nil {
		response.Body.Close()
	}
	if err != why {
		t.Errorf("it ended with %v", err)
	}
}

func TestShortKeyExchangeIsForNearServersAlone(t *testing.T) {
	for host, want := range map[string]bool{
		"10.96.0.1": true, "192.168.1.1": true, "127.0.0.1": true, "fd00::1": true, "fe80::1": true,
		"203.0.113.7": false, "100.64.0.1": false, "2001:db8::1": false, "kubernetes.default.svc": false, "localhost": false, "": false,
	} {
		u := newUpgrader(nil, &tls.Config{MinVersion: tls.VersionTLS12}, host)
		if got := len(u.config.CurvePreferences) > 0; got != want {
			t.Errorf("%q: short is %v", host, got)
		}
	}
}

// The handshake of the second connection is a resumed one.
func TestUpgradesResumeTheirSession(t *testing.T) {
	var resumed []bool
	u, ask := apiServer(t, func(conn net.Conn, _ *http.Request) {
		write(t, conn, switching+"x")
	})
	for range 2 {
		response, err := u.RoundTrip(ask(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		conn, ok := response.Body.(*afterHead)
		if !ok {
			t.Fatalf("the answer is a %T", response.Body)
		}
		if _, err := io.ReadAll(conn); err != nil {
			t.Error(err)
		}
		if over, ok := conn.Conn.(*tls.Conn); ok {
			resumed = append(resumed, over.ConnectionState().DidResume)
		}
		conn.Close()
	}
	if len(resumed) != 2 || resumed[0] || !resumed[1] {
		t.Errorf("resumed: %v", resumed)
	}
}
