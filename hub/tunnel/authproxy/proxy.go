package authproxy

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/tunnel"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/stackroom"
)

const (
	// Prefix is what clusters' handles stand behind.
	Prefix = "/k8s/clusters/"
	// TicketPath takes WebSockets from pages.
	TicketPath = "/ws/proxy"
	// clusterFor is how long a handle's cluster is remembered.
	clusterFor = 2 * time.Second
)

// Stream is one request to a cluster, as hub/tunnel makes it.
type Stream interface {
	Read(p []byte) (int, error)
	Write(p []byte) (int, error)
	// CloseWrite ends the request's body.
	CloseWrite() error
	// Answer waits for the answer's head.
	Answer(ctx context.Context) (*agentv1.StreamAnswer, error)
	Close() error
}

// Identity says who calls and what he may do; *identity.Directory is one.
type Identity interface {
	// Authenticate returns a bearer's caller.
	Authenticate(ctx context.Context, bearer string) (identity.Principal, error)
	// Caller returns the present caller of a token by its id.
	Caller(ctx context.Context, tokenID string) (identity.Principal, error)
	Authorize(ctx context.Context, p identity.Principal, action identity.Action, scope identity.Scope) error
}

// Log takes audit records; *audit.Log is one.
type Log interface {
	// Add keeps a record soon.
	Add(ctx context.Context, r audit.Record)
	// AddNow keeps a record before it returns.
	AddNow(ctx context.Context, r audit.Record) error
}

// Cluster is a cluster as its URL needs it.
type Cluster struct {
	ID, Name, Handle, Project string
}

func (c Cluster) scope() identity.Scope { return identity.Scope{Project: c.Project, Cluster: c.ID} }

// Config is what a Proxy needs. Origin, FailOpen, Clock and Log may be empty.
type Config struct {
	// Open begins a stream to a cluster by its id. ctx bounds its whole life.
	Open     func(ctx context.Context, clusterID string, head *agentv1.StreamHead) (Stream, error)
	Identity Identity
	// Cluster returns a cluster by its handle, or NotFound.
	Cluster func(ctx context.Context, handle string) (Cluster, error)
	Audit   Log
	// Sealer makes tickets and credentials that only this hub can open.
	Sealer identity.Sealer
	// UseNonce notes a nonce, or returns Conflict when any replica noted it
	// before; it may forget those older than forget.
	UseNonce func(ctx context.Context, nonce []byte, at, forget int64) error
	// Origin is the one origin that clusters are served on; empty is any.
	Origin string
	// FailOpen lets commands begin although their record cannot be kept.
	FailOpen bool
	Clock    clock.Clock
	Log      *slog.Logger
}

// Over opens streams along the agents' tunnels.
func Over(t *tunnel.Tunnels) func(ctx context.Context, clusterID string, head *agentv1.StreamHead) (Stream, error) {
	return func(ctx context.Context, clusterID string, head *agentv1.StreamHead) (Stream, error) {
		stream, err := t.Open(ctx, clusterID, head)
		if err != nil {
			return nil, err
		}
		return stream, nil
	}
}

// Proxy is the hub's half.
type Proxy struct {
	Config
	host        string
	streams     streams
	credentials openedCredentials

	mu    sync.Mutex
	known map[string]knownCluster
}

type knownCluster struct {
	Cluster
	at time.Time
}

// New checks that nothing is missing. Run must run beside ServeHTTP.
func New(c Config) (*Proxy, error) {
	if c.Open == nil || c.Identity == nil || c.Cluster == nil || c.Audit == nil || c.Sealer == nil || c.UseNonce == nil {
		return nil, errors.New("authproxy: a part is missing")
	}
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	p := &Proxy{Config: c, known: map[string]knownCluster{}}
	p.streams.all = map[*live]struct{}{}
	if c.Origin != "" {
		u, err := url.Parse(c.Origin)
		if err != nil || u.Host == "" {
			return nil, errcode.New(errcode.Invalid, "--k8s-origin %q is no origin such as https://k8s.example.com", c.Origin)
		}
		p.host = u.Host
	}
	return p, nil
}

// Owns reports whether a path is this package's to answer, before anybody
// cleans it.
func Owns(path string) bool { return strings.HasPrefix(path, "/k8s/") || path == TicketPath }

// OwnHost reports whether a request came to the host that serves clusters
// alone.
func (p *Proxy) OwnHost(r *http.Request) bool {
	return p.host != "" && strings.EqualFold(r.Host, p.host)
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	stackroom.Grow()
	harmless(w.Header())
	if err := p.serve(w, r); err != nil {
		refuse(w, r, err)
	}
}

// serve returns an error only while nothing was answered.
func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) error {
	a, err := p.read(r)
	if err != nil {
		return err
	}
	if p.host != "" && r.URL.Path != TicketPath && !p.OwnHost(r) {
		return errcode.New(errcode.NotFound, "clusters are served on %s alone", p.Origin)
	}
	if r.URL.Path == TicketPath {
		err = p.redeem(r, a)
	} else {
		err = p.admit(r, a)
	}
	if err != nil {
		return err
	}
	return p.carry(w, r, a)
}

// noCluster is what one hears of a cluster that is not there, or that he may
// not see.
func noCluster(handle string) error {
	return errcode.New(errcode.NotFound, "no cluster has the handle %.80q; axle clusters list shows those that exist", handle)
}

// cluster finds a cluster by handle, from memory when it was just asked for.
func (p *Proxy) cluster(ctx context.Context, handle string) (Cluster, error) {
	now := p.Clock.Now()
	p.mu.Lock()
	k, ok := p.known[handle]
	p.mu.Unlock()
	if ok && now.Sub(k.at) < clusterFor {
		return k.Cluster, nil
	}
	c, err := p.Config.Cluster(ctx, handle)
	if errcode.Is(err, errcode.NotFound) {
		err = noCluster(handle)
	}
	if err != nil {
		return Cluster{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.known) > 100_000 {
		clear(p.known)
	}
	p.known[handle] = knownCluster{c, now}
	return c, nil
}
