package git

import (
	"net"
	"net/http"
	"net/netip"
	"os"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/gitexec"
	"github.com/axle-cd/axle/hub/gitcache/upstream"
)

// Config configures a Git. The zero value reaches public https and ssh servers.
type Config struct {
	Allow     []netip.Prefix // internal addresses that may be reached
	Hosts     []string       // HOST:PORT that may have an internal address
	AllowHTTP bool
	// Runner runs git's fetches. Default gitexec.Direct.
	Runner gitexec.Runner
	// Resolver resolves names. Default the machine's.
	Resolver *net.Resolver
	// Getenv reads the environment with the proxies. Default os.Getenv.
	Getenv func(string) string
	// Now is the clock for the expiry of tokens. Default time.Now.
	Now func() time.Time
	// ListTimeout limits one listing. Default 2 min.
	ListTimeout time.Duration
	// FetchTimeout limits one fetch, including the first of a big repository.
	// Default 30 min.
	FetchTimeout time.Duration
	// StallTimeout ends a fetch that received nothing for so long. Default 1 min.
	StallTimeout time.Duration
}

func (c *Config) defaults() {
	if c.Runner == nil {
		c.Runner = gitexec.Direct{}
	}
	if c.Getenv == nil {
		c.Getenv = os.Getenv
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.ListTimeout <= 0 {
		c.ListTimeout = 2 * time.Minute
	}
	if c.FetchTimeout <= 0 {
		c.FetchTimeout = 30 * time.Minute
	}
	if c.StallTimeout <= 0 {
		c.StallTimeout = time.Minute
	}
}

// Git reaches Git servers.
type Git struct {
	config  Config
	dialer  *upstream.Dialer
	gateway *gateway
}

// New opens the gateway for git's own connections.
func New(c Config) (*Git, error) {
	c.defaults()
	g := &Git{config: c, dialer: &upstream.Dialer{Allow: c.Allow, Hosts: c.Hosts, Resolver: c.Resolver}}
	var err error
	g.gateway, err = startGateway()
	return g, err
}

// Close ends the gateway and every connection through it.
func (g *Git) Close() error { return g.gateway.close() }

// transport creates a transport that uses o.
func transport(o *outbound) *http.Transport {
	t := &http.Transport{DialContext: o.DialContext, TLSHandshakeTimeout: 15 * time.Second, IdleConnTimeout: 5 * time.Minute,
		MaxIdleConns: 2, ResponseHeaderTimeout: time.Minute, ForceAttemptHTTP2: true, DisableCompression: true}
	return t
}
