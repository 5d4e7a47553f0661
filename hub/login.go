package hub

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/upstream"
	"github.com/axle-cd/axle/hub/gitcache/upstream/wire"
	"github.com/axle-cd/axle/hub/login"
	"github.com/axle-cd/axle/hub/static"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/pool"
)

// newLogin creates the login server.
func (h *Hub) newLogin() (*login.Server, error) {
	return login.New(login.Config{
		Identity: h.callers.Identity, Accounts: h.callers.Accounts, Sealer: h.store.Sealer(), Origin: h.URL(), Ready: h.feed.Ready, Audit: h.audit,
		Transport: h.providerTransport, Font: static.Font(h.config.Console), Tokens: h.config.Tokens, Pools: h.pools, Clock: h.config.Clock, Log: h.log,
	})
}

// providerTransport connects to login providers by the same address rules as
// for sources: no name leads into the hub's own network unless that is allowed.
func (h *Hub) providerTransport(caPEM string) (http.RoundTripper, error) {
	trusted := &tls.Config{MinVersion: tls.VersionTLS12}
	if caPEM != "" {
		trusted.RootCAs = x509.NewCertPool()
		if !trusted.RootCAs.AppendCertsFromPEM([]byte(caPEM)) {
			return nil, errcode.New(errcode.Invalid, "the certificate authority of the login provider holds no PEM certificate")
		}
	}
	transport := h.config.outward(trusted)
	transport.MaxIdleConnsPerHost = 2
	return transport, nil
}

// outward returns a transport to addresses that people give: login providers, issuers,
// destinations of notifications. No name leads into the hub's own network unless that is
// allowed, and a proxy of the hub's environment is used, as for sources.
func (c Config) outward(trusted *tls.Config) *http.Transport {
	route := wire.Environment{Dialer: &upstream.Dialer{Allow: c.AllowUpstreamCIDRs}}
	return &http.Transport{
		Proxy: route.Proxy, DialContext: route.DialContext, TLSClientConfig: trusted, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 64 << 10,
	}
}

// setupURL returns the URL where a person creates the first administrator in a
// browser; empty when the hub is set up.
func (h *Hub) setupURL() string {
	token, err := os.ReadFile(h.setup.Path)
	if err != nil {
		return ""
	}
	return h.URL() + login.SetupPath + "?token=" + url.QueryEscape(strings.TrimSpace(string(token)))
}

// behindProxies sets the client's address on a request that a trusted proxy
// forwarded, so that limits and records are about the client and not about the
// proxy. It uses the last address in X-Forwarded-For that is not itself a
// trusted proxy, because anybody can write the first ones.
func behindProxies(trusted []netip.Prefix, next http.Handler) http.Handler {
	if len(trusted) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ip, ok := clientOf(r, trusted); ok {
			remote := net.JoinHostPort(ip.String(), "0")
			r = r.WithContext(pool.From(r.Context(), remote))
			r.RemoteAddr = remote
		}
		next.ServeHTTP(w, r)
	})
}

// clientOf returns the client that a trusted proxy forwards for.
func clientOf(r *http.Request, trusted []netip.Prefix) (netip.Addr, bool) {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !within(peer.Addr(), trusted) {
		return netip.Addr{}, false
	}
	var hops []string
	for _, line := range r.Header.Values("X-Forwarded-For") {
		hops = append(hops, strings.Split(line, ",")...)
	}
	for i := len(hops) - 1; i >= 0; i-- {
		ip, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			return netip.Addr{}, false
		}
		if ip = ip.Unmap().WithZone(""); !within(ip, trusted) {
			return ip, true
		}
	}
	return netip.Addr{}, false
}

func within(ip netip.Addr, networks []netip.Prefix) bool {
	ip = ip.Unmap().WithZone("")
	for _, n := range networks {
		if n.Contains(ip) {
			return true
		}
	}
	return false
}
