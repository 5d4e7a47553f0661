package git

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/scrub"
)

// Access describes how to reach one repository.
type Access struct {
	URL        string
	Username   string
	Password   string
	PrivateKey string // PEM, for ssh
	Passphrase string
	KnownHosts string
	CA         string // PEM; empty is the system's
	App        *App   // instead of Username and Password

	// ClientCertificate and ClientKey are sent to servers that request them; PEM.
	ClientCertificate string
	ClientKey         string

	// Proxy is a URL without user and password; empty uses the environment.
	Proxy         string
	ProxyUsername string
	ProxyPassword string
}

// Server is one repository on its server. One caller at a time may use it.
type Server struct {
	git      *Git
	loc      Location
	access   Access
	out      *outbound
	tls      *tls.Config
	client   *http.Client
	app      *appLogin
	key      ssh.Signer // for ssh
	hosts    *hostKeys  // for ssh
	scrubber *scrub.Scrubber
}

// maxRedirects limits how many redirects one request follows.
const maxRedirects = 3

// Server prepares access to one repository. It opens no connection.
func (g *Git) Server(a Access) (*Server, error) {
	loc, user, password, err := ParseURL(a.URL, g.config.AllowHTTP)
	if err != nil {
		return nil, err
	}
	a.Username = or(or(a.Username, user), "git") // servers with token authentication ignore it
	a.Password = or(a.Password, password)
	s := &Server{git: g, loc: loc, access: a, tls: &tls.Config{MinVersion: tls.VersionTLS12}}
	secrets := map[string]string{"password": a.Password, "passphrase": a.Passphrase, "key": a.PrivateKey, "client key": a.ClientKey, "proxy password": a.ProxyPassword}
	if a.App != nil {
		secrets["key"] = a.App.PrivateKey
	}
	s.scrubber = scrub.New(secrets)
	if s.out, err = g.outboundOf(loc, a); err != nil {
		return nil, err
	}
	if loc.Scheme == "ssh" {
		return s, s.prepareSSH()
	}
	if err := s.prepareTLS(); err != nil {
		return nil, err
	}
	t := transport(s.out)
	t.TLSClientConfig = s.tls
	s.client = &http.Client{Transport: t, CheckRedirect: s.redirect}
	if a.App != nil {
		s.app, err = newAppLogin(*a.App, loc, &http.Client{Transport: s.apiTransport(), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, g.config.Now)
	}
	return s, err
}

// transportTo returns the transport to another server, under the repository's rules. Another
// host may need another proxy.
func (s *Server) transportTo(u *url.URL) *http.Transport {
	o := *s.out
	if s.access.Proxy == "" && u.Host != "" {
		o.proxy = s.git.proxyFromEnvironment(Location{Scheme: u.Scheme, Host: u.Hostname(), Port: or(u.Port(), map[string]string{"https": "443", "http": "80"}[u.Scheme])})
	}
	t := transport(&o)
	t.TLSClientConfig = s.tls.Clone()
	return t
}

// apiTransport returns the transport to the API that issues an App's tokens.
func (s *Server) apiTransport() *http.Transport {
	u, err := url.Parse(s.access.App.APIURL)
	if err != nil {
		u = &url.URL{}
	}
	return s.transportTo(u)
}

func (s *Server) prepareTLS() error {
	if s.access.CA != "" {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM([]byte(s.access.CA)) {
			return errcode.New(errcode.Invalid, "the CA of the repository holds no certificate in PEM form")
		}
		s.tls.RootCAs = pool
	}
	if s.access.ClientCertificate == "" && s.access.ClientKey == "" {
		return nil
	}
	c, err := tls.X509KeyPair([]byte(s.access.ClientCertificate), []byte(s.access.ClientKey))
	if err != nil {
		return errcode.New(errcode.Invalid, "the client certificate and key of the repository cannot be used: %w; give both in PEM form", err)
	}
	s.tls.Certificates = []tls.Certificate{c}
	return nil
}

// same reports whether a URL leads to exactly this server: the credentials are
// only for it.
func (s *Server) same(u *url.URL) bool {
	return u.Scheme == s.loc.Scheme && strings.EqualFold(u.Hostname(), s.loc.Host) && or(u.Port(), map[string]string{"https": "443", "http": "80"}[u.Scheme]) == s.loc.Port
}

func (s *Server) elsewhere(u *url.URL) error {
	return errcode.New(errcode.Invalid, "upstream %s redirects to %s://%s; give the repository that URL if you trust it", s.loc.Host, u.Scheme, u.Host)
}

// redirect follows redirects only within the server.
func (s *Server) redirect(r *http.Request, via []*http.Request) error {
	if !s.same(r.URL) {
		return s.elsewhere(r.URL)
	}
	if len(via) >= maxRedirects {
		return errcode.New(errcode.Unavailable, "upstream %s redirects in a circle", s.loc.Host)
	}
	return nil
}

// login returns the current user and password; both are empty without credentials.
func (s *Server) login(ctx context.Context) (username, password string, err error) {
	if s.app == nil {
		return s.access.Username, s.access.Password, nil
	}
	password, err = s.app.get(ctx)
	return "x-access-token", password, err
}

// Close drops idle connections.
func (s *Server) Close() {
	if s.client != nil {
		s.client.CloseIdleConnections()
	}
	if s.app != nil {
		s.app.client.CloseIdleConnections()
	}
}

// Location returns the repository's location.
func (s *Server) Location() Location { return s.loc }

// Scrub removes the repository's secrets from a text.
func (s *Server) Scrub(text string) string {
	if s.app != nil {
		s.app.mu.Lock()
		token := s.app.token
		s.app.mu.Unlock()
		text = scrub.New(map[string]string{"token": token}).String(text)
	}
	return s.scrubber.String(text)
}
