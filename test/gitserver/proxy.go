package gitserver

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"strconv"
	"sync"
)

// Proxy is a forward proxy for tests: HTTP with CONNECT, or SOCKS5. It lets
// clients reach any address and logs which they asked for.
type Proxy struct {
	scheme   string
	username string
	password string
	listener net.Listener
	mu       sync.Mutex
	conns    map[net.Conn]bool
	log      []string
	names    map[string]string
	wg       sync.WaitGroup
}

// StartProxy starts a proxy of the scheme "http" or "socks5". It asks for the
// username and password when the latter is set.
func StartProxy(ctx context.Context, scheme, username, password string) (*Proxy, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{scheme: scheme, username: username, password: password, listener: l, conns: map[net.Conn]bool{}, names: map[string]string{}}
	switch scheme {
	case "http":
		s := &http.Server{Handler: p, ErrorLog: discard}
		p.wg.Go(func() { _ = s.Serve(tracked{l, p}) })
	case "socks5":
		p.wg.Go(p.acceptSOCKS)
	default:
		return nil, errors.Join(fmt.Errorf("proxy of scheme %q; http and socks5 are known", scheme), l.Close())
	}
	return p, nil
}

// URL returns the proxy's URL, without user and password.
func (p *Proxy) URL() string { return p.scheme + "://" + p.listener.Addr().String() }

// Name makes the proxy resolve a host name to another host, as a proxy does
// that alone can see the names of the world.
func (p *Proxy) Name(name, host string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.names[name] = host
}

// Log returns the addresses that clients asked for and were let to, in order.
func (p *Proxy) Log() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.log)
}

// Close ends the proxy and every connection through it.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	p.mu.Lock()
	for c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.wg.Wait()
	return err
}

// tracked hands out connections that Close ends.
type tracked struct {
	net.Listener
	proxy *Proxy
}

// Accept implements net.Listener.
func (t tracked) Accept() (net.Conn, error) {
	c, err := t.Listener.Accept()
	if err == nil {
		t.proxy.track(c)
	}
	return c, err
}

func (p *Proxy) track(c net.Conn) {
	p.mu.Lock()
	p.conns[c] = true
	p.mu.Unlock()
}

func (p *Proxy) dial(ctx context.Context, addr string) (net.Conn, error) {
	p.mu.Lock()
	p.log = append(p.log, addr)
	host, port, err := net.SplitHostPort(addr)
	if to := p.names[host]; err == nil && to != "" {
		addr = net.JoinHostPort(to, port)
	}
	p.mu.Unlock()
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err == nil {
		p.track(c)
	}
	return c, err
}

// ServeHTTP carries one request or one tunnel.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p.password != "" {
		plain := &http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}
		if u, pw, ok := plain.BasicAuth(); !ok || u != p.username || pw != p.password {
			w.Header().Set("Proxy-Authenticate", `Basic realm="proxy"`)
			http.Error(w, "proxy wants credentials", http.StatusProxyAuthRequired)
			return
		}
	}
	if r.Method != http.MethodConnect {
		forward := &httputil.ReverseProxy{Rewrite: func(*httputil.ProxyRequest) {}, FlushInterval: -1, ErrorLog: discard,
			Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) { return p.dial(ctx, addr) }}}
		forward.ServeHTTP(w, r)
		return
	}
	out, err := p.dial(r.Context(), r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer out.Close()
	in, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer in.Close()
	if _, err := io.WriteString(in, "HTTP/1.1 200 OK\r\n\r\n"); err == nil {
		relay(in, buf, out)
	}
}

// relay copies both ways until one side ends.
func relay(in net.Conn, from io.Reader, out net.Conn) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(out, from)
		if c, ok := out.(*net.TCPConn); ok {
			_ = c.CloseWrite()
		}
	}()
	_, _ = io.Copy(in, out)
	_ = in.Close()
	<-done
}

func (p *Proxy) acceptSOCKS() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.track(c)
		p.wg.Go(func() {
			defer c.Close()
			if out, err := p.greetSOCKS(c); err == nil {
				defer out.Close()
				relay(c, c, out)
			}
		})
	}
}

// greetSOCKS does the part of RFC 1928 and 1929 that comes before the data.
func (p *Proxy) greetSOCKS(c net.Conn) (net.Conn, error) {
	read := func(n int) ([]byte, error) {
		b := make([]byte, n)
		_, err := io.ReadFull(c, b)
		return b, err
	}
	b, err := read(2)
	if err != nil || b[0] != 5 {
		return nil, errors.New("no SOCKS5")
	}
	methods, err := read(int(b[1]))
	if err != nil {
		return nil, err
	}
	method := byte(0)
	if p.password != "" {
		method = 2
	}
	if !slices.Contains(methods, method) {
		_, _ = c.Write([]byte{5, 0xff})
		return nil, errors.New("no method in common")
	}
	if _, err = c.Write([]byte{5, method}); err != nil {
		return nil, err
	}
	if method == 2 {
		if err = p.loginSOCKS(c, read); err != nil {
			return nil, err
		}
	}
	return p.connectSOCKS(c, read)
}

func (p *Proxy) loginSOCKS(c net.Conn, read func(int) ([]byte, error)) error {
	var got [2]string
	if _, err := read(1); err != nil {
		return err
	}
	for i := range got {
		b, err := read(1)
		if err == nil {
			b, err = read(int(b[0]))
		}
		if err != nil {
			return err
		}
		got[i] = string(b)
	}
	if got != [2]string{p.username, p.password} {
		_, _ = c.Write([]byte{1, 1})
		return errors.New("wrong password")
	}
	_, err := c.Write([]byte{1, 0})
	return err
}

func (p *Proxy) connectSOCKS(c net.Conn, read func(int) ([]byte, error)) (net.Conn, error) {
	b, err := read(4)
	if err != nil {
		return nil, err
	}
	var host string
	switch b[3] {
	case 1, 4:
		raw, err := read(map[byte]int{1: 4, 4: 16}[b[3]])
		if err != nil {
			return nil, err
		}
		host = net.IP(raw).String()
	case 3:
		if b, err = read(1); err == nil {
			b, err = read(int(b[0]))
		}
		if err != nil {
			return nil, err
		}
		host = string(b)
	}
	if b, err = read(2); err != nil {
		return nil, err
	}
	out, err := p.dial(context.Background(), net.JoinHostPort(host, strconv.Itoa(int(binary.BigEndian.Uint16(b)))))
	if err != nil {
		_, _ = c.Write([]byte{5, 4, 0, 1, 0, 0, 0, 0, 0, 0})
		return nil, err
	}
	if _, err = c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0}); err != nil {
		return nil, errors.Join(err, out.Close())
	}
	return out, nil
}
