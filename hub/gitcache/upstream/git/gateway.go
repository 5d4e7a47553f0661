package git

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
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/gitexec"
	"github.com/axle-cd/axle/internal/errcode"
)

// gateway is a local proxy for git's own HTTP requests. It forwards them as
// requests of this process: with the repository's credentials and certificates,
// which git never sees, and through the Dialer. It listens on the loopback
// interface and authenticates its clients by a token that lives as long as one
// git command; each may reach only the repository's server.
type gateway struct {
	listener net.Listener
	server   *http.Server
	mu       sync.Mutex
	sessions map[string]*gatewaySession // by token
	running  sync.WaitGroup
}

// gatewaySession is what one git command may do through the gateway.
type gatewaySession struct {
	server    *Server
	transport *http.Transport
	forward   *httputil.ReverseProxy

	mu  sync.Mutex
	err error // the first error on the way, which is better than git's
}

func startGateway() (*gateway, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	g := &gateway{listener: l, sessions: map[string]*gatewaySession{}}
	g.server = &http.Server{Handler: g, ReadHeaderTimeout: time.Minute, ErrorLog: quiet}
	g.running.Go(func() { _ = g.server.Serve(l) })
	return g, nil
}

// quiet discards net/http's messages about clients that went away.
var quiet = log.New(io.Discard, "", 0)

func (g *gateway) close() error {
	err := g.server.Close()
	g.running.Wait()
	return err
}

// admit returns the proxy URL for one git command, and a function that ends it.
func (g *gateway) admit(s *Server, conns *gitexec.Conns) (p *gatewaySession, proxyURL string, end func()) {
	// The command has its own connections, so that limits per connection at the
	// server count correctly.
	p = &gatewaySession{server: s, transport: transport(s.out.held(conns))}
	p.transport.TLSClientConfig = s.tls
	p.transport.ResponseHeaderTimeout = 5 * time.Minute // while the server counts objects
	p.forward = &httputil.ReverseProxy{Rewrite: p.rewrite, ModifyResponse: p.answered, ErrorHandler: p.failed, Transport: p.transport, ErrorLog: quiet, FlushInterval: -1}
	token := rand.Text()
	g.mu.Lock()
	g.sessions[token] = p
	g.mu.Unlock()
	return p, "http://axle:" + token + "@" + g.listener.Addr().String(), func() {
		g.mu.Lock()
		delete(g.sessions, token)
		g.mu.Unlock()
		p.transport.CloseIdleConnections()
	}
}

func (g *gateway) session(r *http.Request) *gatewaySession {
	raw, ok := strings.CutPrefix(r.Header.Get("Proxy-Authorization"), "Basic ")
	plain, err := base64.StdEncoding.DecodeString(raw)
	_, token, _ := strings.Cut(string(plain), ":")
	if !ok || err != nil || token == "" {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.sessions[token]
}

// ServeHTTP forwards one request.
func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Proxy-Authorization") == "" {
		w.Header().Set("Proxy-Authenticate", `Basic realm="axle"`)
		http.Error(w, "who are you?", http.StatusProxyAuthRequired)
		return
	}
	p := g.session(r)
	asks := strings.HasSuffix(r.URL.Path, "/info/refs") || strings.HasSuffix(r.URL.Path, "/git-upload-pack")
	if p == nil || r.URL.Scheme != "http" || r.URL.Host != p.server.loc.Address() || !asks {
		http.Error(w, "not the server of this repository", http.StatusForbidden)
		return
	}
	user, password, err := p.server.login(r.Context())
	if err != nil {
		p.failed(w, r, err)
		return
	}
	r.Header.Del("Authorization")
	if password != "" {
		r.SetBasicAuth(user, password)
	}
	p.forward.ServeHTTP(w, r)
}

// asGit returns a URL as git has it, because git uses plain HTTP to the gateway.
func (s *Server) asGit(path string) string { return "http://" + s.loc.Address() + path }

// rewrite converts git's request into one to the server.
func (p *gatewaySession) rewrite(r *httputil.ProxyRequest) {
	u, err := url.Parse(p.server.loc.origin())
	if err != nil {
		return // the location was checked when it was created
	}
	r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = u.Scheme, u.Host, u.Host
}

// answered checks each answer before git sees it.
func (p *gatewaySession) answered(resp *http.Response) error {
	s := p.server
	switch {
	case resp.StatusCode/100 == 3:
		to, err := resp.Location()
		if err != nil {
			return err
		}
		if !s.same(to) {
			return s.elsewhere(to)
		}
		to.Scheme, to.Host = "http", s.loc.Address()
		resp.Header.Set("Location", to.String())
	case resp.StatusCode != http.StatusOK, mediaType(resp) != answers(resp.Request.URL.Path):
		if _, token, _ := resp.Request.BasicAuth(); resp.StatusCode == http.StatusUnauthorized && s.app != nil {
			s.app.forget(token)
		}
		return s.refused(resp)
	}
	return nil
}

// answers returns the content type of a valid answer.
func answers(path string) string {
	if strings.HasSuffix(path, "/info/refs") {
		return advertisementType
	}
	return resultType
}

// failed records the reason and ends git's request.
func (p *gatewaySession) failed(w http.ResponseWriter, _ *http.Request, err error) {
	if !errors.Is(err, context.Canceled) {
		p.mu.Lock()
		if p.err == nil {
			p.err = err
		}
		p.mu.Unlock()
	}
	status := http.StatusBadGateway
	if errcode.Of(err) == errcode.NotFound {
		status = http.StatusNotFound
	}
	http.Error(w, "refused", status)
}

// reason returns the first error on the way, nil when there was none.
func (p *gatewaySession) reason() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}
