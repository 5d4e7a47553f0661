package tunnel_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
)

// terminate is a proxy that ends the TLS and passes requests on, as an ingress
// does.
func terminate(t testing.TB, h *hub) *httptest.Server {
	t.Helper()
	to, err := url.Parse(h.url())
	if err != nil {
		t.Fatal(err)
	}
	p := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport: &http.Transport{TLSClientConfig: transportFor(h.server).TLSClientConfig},
	}
	s := httptest.NewTLSServer(p)
	t.Cleanup(s.Close)
	return s
}

// line is a TCP connection's way that can be cut, or fall silent.
type line struct {
	listener net.Listener
	to       string

	mu     sync.Mutex
	conns  []net.Conn
	silent bool
	gate   chan struct{}
}

func newLine(t testing.TB, to string) *line {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &line{listener: l, to: to, gate: make(chan struct{})}
	var carrying sync.WaitGroup
	carrying.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			n.mu.Lock()
			n.conns = append(n.conns, in, out)
			gate := n.gate
			n.mu.Unlock()
			carrying.Go(func() { n.carry(in, out, gate) })
			carrying.Go(func() { n.carry(out, in, gate) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		n.cut()
		n.mu.Lock()
		if !n.silent {
			close(n.gate)
		}
		n.mu.Unlock()
		carrying.Wait()
	})
	return n
}

// carry copies until an end closes or the line falls silent: then it keeps
// both ends open and says nothing.
func (n *line) carry(from, to net.Conn, gate chan struct{}) {
	defer from.Close()
	defer to.Close()
	buf := make([]byte, 32<<10)
	for {
		got, err := from.Read(buf)
		select {
		case <-gate:
			_, _ = io.Copy(io.Discard, from)
			return
		default:
		}
		if got > 0 {
			if _, err := to.Write(buf[:got]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (n *line) addr() string { return n.listener.Addr().String() }

// cut closes every connection; new ones get through.
func (n *line) cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.conns {
		c.Close()
	}
	n.conns = nil
}

// hush makes every connection there is fall silent; new ones get through.
func (n *line) hush() {
	n.mu.Lock()
	defer n.mu.Unlock()
	close(n.gate)
	n.gate = make(chan struct{})
}
