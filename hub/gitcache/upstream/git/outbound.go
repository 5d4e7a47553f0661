package git

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"golang.org/x/net/http/httpproxy"
	"golang.org/x/net/proxy"

	"github.com/axle-cd/axle/hub/gitcache/gitexec"
	"github.com/axle-cd/axle/hub/gitcache/upstream"
	"github.com/axle-cd/axle/internal/errcode"
)

// outbound decides how connections to one upstream leave the hub: directly, or
// through a proxy.
type outbound struct {
	dialer *upstream.Dialer
	proxy  *url.URL // nil is a direct connection; user and password are inside
	// own is set for a proxy from the hub's environment. The hub's operator
	// chose it, so only the upstream's address is checked, not the proxy's.
	own bool
	// conns records each connection; may be nil.
	conns *gitexec.Conns
}

// held returns the same outbound with its connections recorded.
func (o *outbound) held(c *gitexec.Conns) *outbound {
	noted := *o
	noted.conns = c
	return &noted
}

// dial connects, with the Dialer's rules or without, and records the connection.
func (o *outbound) dial(ctx context.Context, network, addr string, free bool) (net.Conn, error) {
	dial := o.dialer.DialContext
	if free {
		dial = (&net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second, Resolver: o.dialer.Resolver}).DialContext
	}
	c, err := dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	if err := o.conns.Add(c); err != nil {
		return nil, errors.Join(errcode.New(errcode.Unavailable, "the guard of this fetch has gone: %w", err), c.Close())
	}
	return c, nil
}

// lookTimeout limits the look-up of a name that the proxy resolves again.
const lookTimeout = 3 * time.Second

// outboundOf chooses how to reach a location: through the repository's own
// proxy, otherwise as the hub's environment says (HTTPS_PROXY, HTTP_PROXY,
// ALL_PROXY, NO_PROXY).
func (g *Git) outboundOf(loc Location, a Access) (*outbound, error) {
	o := &outbound{dialer: g.dialer}
	if a.Proxy == "" {
		o.proxy, o.own = g.proxyFromEnvironment(loc), true
		return o, nil
	}
	u, err := url.Parse(a.Proxy)
	if err != nil || u.Host == "" || u.User != nil {
		return nil, errcode.New(errcode.Invalid, "the repository's proxy must be a URL without user and password; give one like http://proxy.example.com:3128")
	}
	if a.ProxyPassword != "" || a.ProxyUsername != "" {
		u.User = url.UserPassword(a.ProxyUsername, a.ProxyPassword)
	}
	o.proxy = u
	return o, known(u)
}

func known(u *url.URL) error {
	switch u.Scheme {
	case "http", "https", "socks5", "socks5h":
		return nil
	}
	return errcode.New(errcode.Invalid, "the proxy has the unsupported scheme %.20q; use http, https or socks5", u.Scheme)
}

func (g *Git) proxyFromEnvironment(loc Location) *url.URL {
	get := func(upper, lower string) string { return or(g.config.Getenv(upper), g.config.Getenv(lower)) }
	all := get("ALL_PROXY", "all_proxy")
	c := httpproxy.Config{HTTPProxy: or(get("HTTP_PROXY", "http_proxy"), all), HTTPSProxy: or(get("HTTPS_PROXY", "https_proxy"), all), NoProxy: get("NO_PROXY", "no_proxy")}
	scheme := loc.Scheme
	if scheme == "ssh" {
		c.HTTPSProxy, scheme = all, "https" // an HTTPS_PROXY rarely lets port 22 pass
	}
	u, err := c.ProxyFunc()(&url.URL{Scheme: scheme, Host: loc.Address()})
	if err != nil || u == nil || known(u) != nil {
		return nil
	}
	return u
}

// DialContext connects to addr.
func (o *outbound) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	if o.proxy == nil {
		return o.dial(ctx, network, addr, false)
	}
	if err := o.look(ctx, addr); err != nil {
		return nil, err
	}
	if o.proxy.Scheme == "socks5" || o.proxy.Scheme == "socks5h" {
		return o.throughSOCKS(ctx, network, addr)
	}
	return o.throughHTTP(ctx, addr)
}

// look refuses an internal address that a proxy would connect to for us. A name
// that only the proxy can resolve is left to the proxy.
func (o *outbound) look(ctx context.Context, addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil || o.dialer.Allowed(addr) {
		return err
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return o.dialer.Check(ip)
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	found, err := o.dialer.Lookup(ctx, host)
	if err != nil {
		return nil
	}
	for _, ip := range found {
		if err := o.dialer.Check(ip); err != nil {
			return err
		}
	}
	return nil
}

// dialProxy connects to the proxy itself.
func (o *outbound) dialProxy(ctx context.Context, network, _ string) (net.Conn, error) {
	addr := o.proxy.Host
	if o.proxy.Port() == "" {
		addr = net.JoinHostPort(o.proxy.Hostname(), map[string]string{"http": "80", "https": "443"}[o.proxy.Scheme])
		if o.proxy.Scheme == "socks5" || o.proxy.Scheme == "socks5h" {
			addr = net.JoinHostPort(o.proxy.Hostname(), "1080")
		}
	}
	c, err := o.dial(ctx, network, addr, o.own)
	if err != nil || o.proxy.Scheme != "https" {
		return c, o.named(err)
	}
	t := tls.Client(c, &tls.Config{ServerName: o.proxy.Hostname(), MinVersion: tls.VersionTLS12})
	if err := t.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(o.named(err), c.Close())
	}
	return t, nil
}

// named adds to an error that the proxy failed.
func (o *outbound) named(err error) error {
	if err == nil || errcode.Is(err, errcode.Forbidden) {
		return err
	}
	return errcode.New(errcode.Unavailable, "proxy %s: %w", o.proxy.Redacted(), err)
}

func (o *outbound) throughSOCKS(ctx context.Context, network, addr string) (net.Conn, error) {
	var auth *proxy.Auth
	if u := o.proxy.User; u != nil {
		password, _ := u.Password()
		auth = &proxy.Auth{User: u.Username(), Password: password}
	}
	d, err := proxy.SOCKS5("tcp", o.proxy.Host, auth, dialFunc(o.dialProxy))
	if err != nil {
		return nil, o.named(err)
	}
	c, err := d.(proxy.ContextDialer).DialContext(ctx, network, addr)
	return c, o.named(err)
}

// dialFunc adapts a function to both kinds of proxy.Dialer.
type dialFunc func(ctx context.Context, network, addr string) (net.Conn, error)

// Dial implements proxy.Dialer; nothing calls it.
func (f dialFunc) Dial(network, addr string) (net.Conn, error) {
	return f(context.Background(), network, addr)
}

// DialContext implements proxy.ContextDialer.
func (f dialFunc) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return f(ctx, network, addr)
}

// throughHTTP requests a tunnel from the proxy.
func (o *outbound) throughHTTP(ctx context.Context, addr string) (net.Conn, error) {
	c, err := o.dialProxy(ctx, "tcp", "")
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now()) })
	defer stop()
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	r := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: addr}, Host: addr, Header: http.Header{"User-Agent": {"axle"}}}
	if u := o.proxy.User; u != nil {
		password, _ := u.Password()
		r.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(u.Username()+":"+password)))
	}
	if err := r.Write(c); err != nil {
		return nil, errors.Join(o.named(err), c.Close())
	}
	in := bufio.NewReader(c)
	resp, err := http.ReadResponse(in, r)
	if err != nil {
		return nil, errors.Join(o.named(err), c.Close())
	}
	if resp.StatusCode != http.StatusOK {
		_ = c.Close()
		code := errcode.Unavailable
		if resp.StatusCode == http.StatusProxyAuthRequired {
			code = errcode.Unauthorized
		}
		return nil, errcode.New(code, "proxy %s refuses to connect to %s: %s", o.proxy.Redacted(), addr, resp.Status)
	}
	_ = c.SetDeadline(time.Time{})
	return &buffered{Conn: c, in: in}, ctx.Err()
}

// buffered is a connection with bytes that were already read.
type buffered struct {
	net.Conn
	in io.Reader
}

// Read reads what came with the proxy's answer first.
func (b *buffered) Read(p []byte) (int, error) { return b.in.Read(p) }
