package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
)

// Dialer connects to upstreams and refuses forbidden addresses.
type Dialer interface {
	DialContext(ctx context.Context, network, addr string) (net.Conn, error)
	// Check applies the same rule to an address that a proxy will connect to.
	Check(addr netip.Addr) error
}

// Anywhere dials without the address rules for tenants' upstreams, for hosts that an
// administrator of the hub configured.
type Anywhere struct{ net.Dialer }

// Check allows every address.
func (Anywhere) Check(netip.Addr) error { return nil }

// Config configures a Client. Only Dialer is required.
type Config struct {
	Dialer Dialer
	// AllowHTTP permits http:// URLs.
	AllowHTTP bool
	// Proxy is the URL of an HTTP, HTTPS or SOCKS5 proxy; empty uses the hub's
	// environment.
	Proxy, ProxyUsername, ProxyPassword string
	// CA, ClientCertificate and ClientKey are PEM. An empty CA is the system's;
	// the others are optional.
	CA, ClientCertificate, ClientKey string
	// Scrub removes the repository's secrets from servers' messages; nil
	// removes nothing.
	Scrub func(string) string
	// Silence is how long an answer may send nothing; default 60 s.
	Silence time.Duration
}

const (
	silence      = 60 * time.Second
	maxRedirects = 5
)

// Client makes requests for one repository. It is safe for concurrent use.
type Client struct {
	config    Config
	dialer    Dialer
	proxy     func(*http.Request) (*url.URL, error)
	transport *http.Transport
	client    *http.Client
}

// New checks the configuration. It opens no connection.
func New(c Config) (*Client, error) {
	if c.Silence <= 0 {
		c.Silence = silence
	}
	if c.Scrub == nil {
		c.Scrub = func(text string) string { return text }
	}
	cl := &Client{config: c, dialer: c.Dialer}
	tlsConfig, err := c.tls()
	if err != nil {
		return nil, err
	}
	if cl.proxy, err = cl.chooseProxy(); err != nil {
		return nil, err
	}
	cl.transport = &http.Transport{
		Proxy: cl.proxy, DialContext: cl.dial, TLSClientConfig: tlsConfig, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: 15 * time.Second, ResponseHeaderTimeout: c.Silence, ExpectContinueTimeout: time.Second,
		MaxIdleConnsPerHost: 2, IdleConnTimeout: 90 * time.Second, MaxResponseHeaderBytes: 64 << 10, DisableCompression: true,
	}
	cl.client = &http.Client{Transport: guarded{cl}, CheckRedirect: cl.redirect}
	return cl, nil
}

func (c Config) tls() (*tls.Config, error) {
	out := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CA != "" {
		// Add it to the system's: token services of clouds are public.
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		out.RootCAs = pool
		if !out.RootCAs.AppendCertsFromPEM([]byte(c.CA)) {
			return nil, errcode.New(errcode.Invalid, "the repository's certificate authority holds no PEM certificate")
		}
	}
	if c.ClientCertificate != "" || c.ClientKey != "" {
		pair, err := tls.X509KeyPair([]byte(c.ClientCertificate), []byte(c.ClientKey))
		if err != nil {
			// The cause may quote the key.
			return nil, errcode.New(errcode.Invalid, "the repository's client certificate and key are not a PEM pair")
		}
		out.Certificates = []tls.Certificate{pair}
	}
	return out, nil
}

func (c *Client) chooseProxy() (func(*http.Request) (*url.URL, error), error) {
	if c.config.Proxy == "" {
		return Environment{c.dialer}.Proxy, nil
	}
	u, err := CheckProxy(c.config.Proxy)
	if err != nil {
		return nil, err
	}
	if c.config.ProxyUsername != "" || c.config.ProxyPassword != "" {
		u.User = url.UserPassword(c.config.ProxyUsername, c.config.ProxyPassword)
	}
	return func(r *http.Request) (*url.URL, error) { return u, literal(c.dialer, r.URL) }, nil
}

// CheckProxy parses the URL of a proxy, which must not hold a password.
func CheckProxy(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return nil, errcode.New(errcode.Invalid, "the proxy's URL cannot be read; give one like http://proxy.example.com:3128")
	}
	switch u.Scheme {
	case "http", "https", "socks5", "socks5h":
	default:
		return nil, errcode.New(errcode.Invalid, "proxy scheme %.20q is not supported; use http, https or socks5", u.Scheme)
	}
	if u.User != nil {
		return nil, errcode.New(errcode.Invalid, "the proxy's URL holds a user or password; give them as the proxy's credentials")
	}
	return u, nil
}

// dial checks the address, except for a proxy from the hub's environment, which
// the operator chose and not a tenant.
func (c *Client) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if c.config.Proxy == "" {
		return Environment{c.dialer}.DialContext(ctx, network, addr)
	}
	return c.dialer.DialContext(ctx, network, addr)
}

// Private reports whether anybody but the hub's operator chose the route: a
// proxy, a certificate authority, or a client certificate.
func (c *Client) Private() bool {
	return c.config.Proxy != "" || c.config.CA != "" || c.config.ClientCertificate != ""
}

// Close closes idle connections.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// allowed refuses URLs that no request may use.
func (c *Client) allowed(u *url.URL) error {
	switch {
	case u.Scheme != "https" && (u.Scheme != "http" || !c.config.AllowHTTP):
		return errcode.New(errcode.Forbidden, "%s uses %s; use https, or start the hub with plain http allowed", Redact(u), u.Scheme)
	case u.Hostname() == "":
		return errcode.New(errcode.Invalid, "%s names no host", Redact(u))
	}
	return nil
}

// HTTP returns the client for libraries that build their own requests. It
// follows the rules of Do, except that they handle refusals other than 429 and
// 5xx themselves, and 501 for HEAD.
func (c *Client) HTTP() *http.Client { return c.client }

type otherHosts struct{}

// OtherHosts returns a context whose requests may follow redirects to other
// hosts, without credentials. Use it only for content that is compared with a
// digest.
func OtherHosts(ctx context.Context) context.Context {
	return context.WithValue(ctx, otherHosts{}, true)
}

// redirect follows redirects to the same host, and to others only where the
// caller declared content that will be compared with a digest; never with
// credentials, never from https to http.
func (c *Client) redirect(r *http.Request, via []*http.Request) error {
	first := via[0].URL
	if len(via) > maxRedirects {
		return errcode.New(errcode.Unavailable, "%s redirects more than %d times", Redact(first), maxRedirects)
	}
	if err := c.allowed(r.URL); err != nil {
		return err
	}
	if first.Scheme == "https" && r.URL.Scheme != "https" {
		return errcode.New(errcode.Forbidden, "%s redirects from https to http", Redact(first))
	}
	if SameHost(first, r.URL) {
		return nil
	}
	if others, _ := r.Context().Value(otherHosts{}).(bool); !others {
		return errcode.New(errcode.Forbidden, "%s redirects to another host, %s; if that is intended, give that URL", Redact(first), r.URL.Host)
	}
	for _, h := range []string{"Authorization", "Cookie", "X-Amz-Security-Token", "X-Amz-Date", "Referer"} {
		r.Header.Del(h)
	}
	return nil
}

// SameHost reports whether two URLs have the same scheme, host and port.
func SameHost(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return map[string]string{"https": "443", "http": "80"}[u.Scheme]
}

// Redact returns a URL without user, query and fragment, for messages:
// presigned URLs carry their secret in the query.
func Redact(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
}

// Explain adds a code to the client's error for a URL.
func Explain(raw string, err error) error {
	u, bad := url.Parse(raw)
	if bad != nil {
		u = &url.URL{}
	}
	return explain(u, err)
}

func explain(u *url.URL, err error) error {
	var coded *errcode.Error
	var certificate *tls.CertificateVerificationError
	var dns *net.DNSError
	var wrapped *url.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &coded):
		return coded
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return errcode.New(errcode.Unavailable, "%s did not answer in time", Redact(u))
	case errors.As(err, &certificate):
		return errcode.New(errcode.Unavailable, "%s shows a certificate that is not trusted: %v; give its authority with the repository", Redact(u), certificate.Err)
	case errors.As(err, &dns):
		return errcode.New(errcode.Unavailable, "host %s cannot be found: %s", u.Hostname(), dns.Err)
	case errors.As(err, &wrapped):
		// The error's own text quotes the URL with its query.
		return errcode.Hide(errcode.Unavailable, err, "%s cannot be reached: %s", Redact(u), wrapped.Err)
	}
	return errcode.New(errcode.Unavailable, "%s cannot be reached: %w", Redact(u), fmt.Errorf("%w", err))
}
