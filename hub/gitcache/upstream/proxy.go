package upstream

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
	"time"
)

// proxy lets git processes of this hub out, each to one address, through the
// Dialer. It listens on the loopback interface and knows its clients by a
// token that lives as long as one git command.
type proxy struct {
	dialer   *Dialer
	listener net.Listener
	server   *http.Server
	forward  *httputil.ReverseProxy
	mu       sync.Mutex
	tokens   map[string]string // token to the one address it may reach
	conns    sync.WaitGroup
}

func startProxy(d *Dialer) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{dialer: d, listener: l, tokens: map[string]string{}}
	quiet := log.New(io.Discard, "", 0)
	p.forward = &httputil.ReverseProxy{
		Rewrite:       func(*httputil.ProxyRequest) {},
		Transport:     &http.Transport{DialContext: d.DialContext, MaxIdleConns: 4, IdleConnTimeout: 10 * time.Second, DisableCompression: true},
		ErrorLog:      quiet,
		FlushInterval: -1,
	}
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: time.Minute, ErrorLog: quiet}
	p.conns.Go(func() { _ = p.server.Serve(l) })
	return p, nil
}

func (p *proxy) close() error {
	err := p.server.Close()
	p.conns.Wait()
	return err
}

// admit returns the proxy URL for one git command that may reach addr, and
// what ends it.
func (p *proxy) admit(addr string) (url string, end func()) {
	token := rand.Text()
	p.mu.Lock()
	p.tokens[token] = addr
	p.mu.Unlock()
	return "http://axle:" + token + "@" + p.listener.Addr().String(), func() {
		p.mu.Lock()
		delete(p.tokens, token)
		p.mu.Unlock()
	}
}

func (p *proxy) allowed(r *http.Request, addr string) bool {
	raw, ok := strings.CutPrefix(r.Header.Get("Proxy-Authorization"), "Basic ")
	plain, err := base64.StdEncoding.DecodeString(raw)
	_, token, _ := strings.Cut(string(plain), ":")
	p.mu.Lock()
	defer p.mu.Unlock()
	return ok && err == nil && token != "" && p.tokens[token] == addr
}

// ServeHTTP carries one request or one tunnel.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	addr := r.Host
	if r.Method != http.MethodConnect {
		addr = r.URL.Host
		if r.URL.Port() == "" {
			addr = net.JoinHostPort(r.URL.Hostname(), "80")
		}
	}
	if r.Header.Get("Proxy-Authorization") == "" {
		w.Header().Set("Proxy-Authenticate", `Basic realm="axle"`)
		http.Error(w, "who are you?", http.StatusProxyAuthRequired)
		return
	}
	if !p.allowed(r, addr) {
		http.Error(w, "not the server of this repository", http.StatusForbidden)
		return
	}
	r.Header.Del("Proxy-Authorization")
	r.Header.Del("Proxy-Connection")
	if r.Method == http.MethodConnect {
		p.tunnel(w, r, addr)
		return
	}
	p.forward.ServeHTTP(w, r)
}

func (p *proxy) tunnel(w http.ResponseWriter, r *http.Request, addr string) {
	out, err := p.dialer.DialContext(r.Context(), "tcp", addr)
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
	if _, err := in.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n")); err != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		_, err := io.Copy(out, buf)
		if c, ok := out.(*net.TCPConn); ok && err == nil {
			_ = c.CloseWrite()
		}
		if err != nil && !errors.Is(err, net.ErrClosed) {
			cancel()
		}
	}()
	stop := context.AfterFunc(ctx, func() { _ = out.Close() })
	defer stop()
	_, _ = io.Copy(in, out)
}
