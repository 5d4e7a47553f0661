package upstream

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/scrub"
)

// Config of a Git. The zero value reaches public https and ssh servers.
type Config struct {
	Allow     []netip.Prefix // internal addresses that may be reached
	AllowHTTP bool
	// Runner runs the git commands that use the network. Default Direct.
	Runner Runner
	// Processes bounds the cat-file processes of all mirrors together.
	// Default twice the cores.
	Processes int
}

// Git reaches upstreams. Close it after its mirrors.
type Git struct {
	config Config
	dialer *Dialer
	proxy  *proxy
	slots  chan struct{}
}

// New opens the proxy for git's own connections.
func New(c Config) (*Git, error) {
	if c.Runner == nil {
		c.Runner = Direct{}
	}
	if c.Processes <= 0 {
		c.Processes = 2 * runtime.GOMAXPROCS(0)
	}
	g := &Git{config: c, dialer: &Dialer{Allow: c.Allow}, slots: make(chan struct{}, c.Processes)}
	var err error
	g.proxy, err = startProxy(g.dialer)
	return g, err
}

// Close ends the proxy and every connection through it.
func (g *Git) Close() error { return g.proxy.close() }

// Access is how to reach one repository.
type Access struct {
	URL        string
	Username   string
	Password   string
	PrivateKey string // PEM, for ssh
	Passphrase string
	KnownHosts string
	CA         string // PEM; empty is the system's
}

// Server is one repository on its server.
type Server struct {
	git      *Git
	loc      Location
	access   Access
	client   *http.Client
	scrubber *scrub.Scrubber
}

// maxRedirects bounds how often one request follows its server.
const maxRedirects = 3

// Server prepares access to one repository. It dials nothing.
func (g *Git) Server(a Access) (*Server, error) {
	loc, user, password, err := ParseURL(a.URL, g.config.AllowHTTP)
	if err != nil {
		return nil, err
	}
	if a.Username == "" {
		a.Username = user
	}
	if a.Password == "" {
		a.Password = password
	}
	if a.Username == "" {
		a.Username = "git" // servers that take tokens ignore it
	}
	s := &Server{git: g, loc: loc, access: a,
		scrubber: scrub.New(map[string]string{"password": a.Password, "passphrase": a.Passphrase, "key": a.PrivateKey})}
	t := &http.Transport{DialContext: g.dialer.DialContext, TLSHandshakeTimeout: 15 * time.Second, IdleConnTimeout: 5 * time.Minute,
		MaxIdleConns: 2, ResponseHeaderTimeout: time.Minute, ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}}
	if a.CA != "" {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM([]byte(a.CA)) {
			return nil, errcode.New(errcode.Invalid, "the CA of the repository holds no certificate in PEM form")
		}
		t.TLSClientConfig.RootCAs = pool
	}
	s.client = &http.Client{Transport: t, CheckRedirect: s.redirect}
	return s, nil
}

// redirect follows a server to itself only: the credentials are its own.
func (s *Server) redirect(r *http.Request, via []*http.Request) error {
	if r.URL.Scheme != s.loc.Scheme || !strings.EqualFold(r.URL.Hostname(), s.loc.Host) || or(r.URL.Port(), map[string]string{"https": "443", "http": "80"}[r.URL.Scheme]) != s.loc.Port {
		return errcode.New(errcode.Invalid, "upstream %s redirects to %s; give that URL if you trust it", s.loc.Host, r.URL.Host)
	}
	if len(via) >= maxRedirects {
		return errcode.New(errcode.Unavailable, "upstream %s redirects in a circle", s.loc.Host)
	}
	return nil
}

// Close drops kept connections.
func (s *Server) Close() { s.client.CloseIdleConnections() }

// Location returns where the repository is.
func (s *Server) Location() Location { return s.loc }

// Scrub takes the repository's secrets out of a text.
func (s *Server) Scrub(text string) string { return s.scrubber.String(text) }
