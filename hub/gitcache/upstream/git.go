package upstream

import (
	"net"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"time"
)

// Config configures a Git. The zero value reaches public https and ssh servers.
type Config struct {
	Allow     []netip.Prefix // internal addresses that may be reached
	AllowHTTP bool
	// Runner runs the git commands that use the network. Default Direct.
	Runner Runner
	// Processes limits the cat-file processes of all mirrors together. Default
	// twice the cores.
	Processes int
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
		c.Runner = Direct{}
	}
	if c.Processes <= 0 {
		c.Processes = 2 * runtime.GOMAXPROCS(0)
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

// Git reaches upstreams. Close it after its mirrors.
type Git struct {
	config  Config
	dialer  *Dialer
	gateway *gateway
	slots   chan struct{}
}

// New opens the gateway for git's own connections.
func New(c Config) (*Git, error) {
	c.defaults()
	g := &Git{config: c, dialer: &Dialer{Allow: c.Allow, Resolver: c.Resolver}, slots: make(chan struct{}, c.Processes)}
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
