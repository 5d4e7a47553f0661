package wire

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"golang.org/x/net/http/httpproxy"
)

// Environment routes requests as the hub's environment says (HTTPS_PROXY, HTTP_PROXY,
// NO_PROXY), and all others directly. Everything that the hub sends to an address that a
// tenant gave goes by it: sources, login providers, issuers, notifications. The operator
// chose the proxy, so it may be anywhere; an internal address is refused behind it as
// without it, and names are left to the proxy.
type Environment struct{ Dialer Dialer }

// Proxy is that of an http.Transport.
func (e Environment) Proxy(r *http.Request) (*url.URL, error) {
	u, err := httpproxy.FromEnvironment().ProxyFunc()(r.URL)
	if u != nil && err == nil {
		err = literal(e.Dialer, r.URL)
	}
	return u, err
}

// DialContext is that of an http.Transport. It checks every address but the proxy's.
func (e Environment) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	if isOwnProxy(addr) {
		d := net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}
		return d.DialContext(ctx, network, addr)
	}
	return e.Dialer.DialContext(ctx, network, addr)
}

// literal refuses an internal address behind a proxy. Names are left to the
// proxy.
func literal(d Dialer, u *url.URL) error {
	addr, err := netip.ParseAddr(u.Hostname())
	if err != nil {
		return nil //nolint:nilerr // a name
	}
	return d.Check(addr)
}

func isOwnProxy(addr string) bool {
	proxy := httpproxy.FromEnvironment().ProxyFunc()
	for _, scheme := range []string{"https", "http"} {
		u, err := proxy(&url.URL{Scheme: scheme, Host: "upstream.invalid"})
		if err != nil || u == nil {
			continue
		}
		port := u.Port()
		if port == "" {
			port = map[string]string{"http": "80", "https": "443", "socks5": "1080"}[u.Scheme]
		}
		if net.JoinHostPort(u.Hostname(), port) == addr {
			return true
		}
	}
	return false
}
