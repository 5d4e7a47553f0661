package authproxy

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/axle-cd/axle/internal/growstack"
	"github.com/axle-cd/axle/internal/pool"
)

const (
	// Prefix is the path before a cluster's handle.
	Prefix = "/k8s/clusters/"
	// TicketPath accepts WebSockets from pages.
	TicketPath = "/ws/proxy"
	// clusterFor is how long a handle's cluster is cached.
	clusterFor = 2 * time.Second
)

// Stream is one request to a cluster, as hub/tunnel makes it.
type Stream interface {
	Read(p []byte) (int, error)
	Write(p []byte) (int, error)
	// CloseWrite ends the request's body.
	CloseWrite() error
	// Answer waits for the head of the answer.
	Answer(ctx context.Context) (*agentv1.StreamAnswer, error)
	Close() error
}

// Identity authenticates and authorizes callers; *identity.Directory implements
// it.
type Identity interface {
	// Authenticate returns a bearer's caller.
	Authenticate(ctx context.Context, bearer string) (identity.Principal, error)
	// Caller returns the current caller of a token by its id.
	Caller(ctx context.Context, tokenID string) (identity.Principal, error)
	Authorize(ctx context.Context, p identity.Principal, action identity.Action, scope identity.Scope) error
}

// Log stores audit records; *audit.Log implements it.
type Log interface {
	// Add stores a record soon.
	Add(ctx context.Context, r audit.Record)
	// AddNow stores a record before it returns.
	AddNow(ctx context.Context, r audit.Record) error
}

// Cluster is the part of a cluster that the proxy needs.
type Cluster struct {
	ID, Name, Handle, Project string
	// LimitsNamespaces says that the project keeps its services to some namespaces,
	// Limited that it limits anything that they write. A role that holds in every
	// namespace would be a way around.
	LimitsNamespaces, Limited bool
	// Unmade says why a cluster that the hub makes or destroys has no tunnel; empty for
	// others.
	Unmade string
}

// away says why a cluster has no tunnel, and what to do.
func (c Cluster) away() string {
	if c.Unmade != "" {
		return c.Unmade
	}
	return "has no tunnel to this hub now; axle clusters get " + c.Name + " shows since when, and axle-agent doctor, run where its agent runs, what keeps it down"
}

func (c Cluster) scope() identity.Scope { return identity.Scope{Project: c.Project, Cluster: c.ID} }

// Config holds a Proxy's dependencies. Origin, FailOpen, Clock and Log may be
// empty.
type Config struct {
	// Open opens a stream to a cluster by its id. ctx limits its whole life.
	Open     func(ctx context.Context, clusterID string, head *agentv1.StreamHead) (Stream, error)
	Identity Identity
	// Cluster returns a cluster by its handle, or NotFound.
	Cluster func(ctx context.Context, handle string) (Cluster, error)
	// Now returns a cluster by its id as this replica knows it, from memory: open
	// streams are judged with it each second.
	Now   func(id string) (c Cluster, known bool)
	Audit Log
	// Sealer seals tickets and credentials so that only this hub can open them.
	Sealer identity.Sealer
	// UseNonce records a nonce, or returns Conflict when any replica recorded
	// it before; it may forget those older than forget.
	UseNonce func(ctx context.Context, nonce []byte, at, forget int64) error
	// Origin is the only origin that serves clusters; empty allows any.
	Origin string
	// FailOpen allows commands to begin although their record cannot be stored.
	FailOpen bool
	// Pools has the pools; nil has them without metrics.
	Pools *pool.Set
	Clock clock.Clock
	Log   *slog.Logger
}

// Over opens streams through the agents' tunnels.
func Over(t *tunnel.Tunnels) func(ctx context.Context, clusterID string, head *agentv1.StreamHead) (Stream, error) {
	return func(ctx context.Context, clusterID string, head *agentv1.StreamHead) (Stream, error) {
		stream, err := t.Open(ctx, clusterID, head)
		if err != nil {
			return nil, err
		}
		return stream, nil
	}
}

// Proxy is the hub's half of the auth proxy.
type Proxy struct {
	config      Config
	host        string
	streams     streams
	credentials openedCredentials
	large, logs *pool.Places

	mu    sync.Mutex
	known map[string]knownCluster
}

type knownCluster struct {
	Cluster
	at time.Time
}

// New returns an error when a required part is missing. Run must run in
// parallel to ServeHTTP.
func New(c Config) (*Proxy, error) {
	if c.Open == nil || c.Identity == nil || c.Cluster == nil || c.Now == nil || c.Audit == nil || c.Sealer == nil || c.UseNonce == nil {
		return nil, errors.New("authproxy: a part is missing")
	}
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	p := &Proxy{config: c, known: map[string]knownCluster{}}
	p.large = c.Pools.Places(pool.Spec{
		Name: "large_heads", Of: fmt.Sprintf("requests with a head of more than %d KiB", largeHead>>10),
		Size: largeOfAll, Share: largeOfOne, Reserve: largeReserve, Retry: time.Second,
	})
	p.logs = c.Pools.Places(pool.Spec{Name: "logs", Of: "logs that are read", Size: maxLogs, Share: maxLogsOfOne, Reserve: maxLogs / 10, Retry: time.Second})
	p.streams.all = map[*live]struct{}{}
	if c.Origin != "" {
		u, err := url.Parse(c.Origin)
		if err != nil || u.Host == "" {
			return nil, errcode.New(errcode.Invalid, "--k8s-origin %q is not an origin such as https://k8s.example.com", c.Origin)
		}
		p.host = u.Host
	}
	return p, nil
}

// Owns reports whether this package must answer a path, before the path is
// cleaned.
func Owns(path string) bool { return strings.HasPrefix(path, "/k8s/") || path == TicketPath }

// OwnHost reports whether a request came to the host that serves only clusters.
func (p *Proxy) OwnHost(r *http.Request) bool {
	return p.host != "" && strings.EqualFold(r.Host, p.host)
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	growstack.Grow()
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
		return errcode.New(errcode.NotFound, "clusters are only served on %s", p.config.Origin)
	}
	if r.URL.Path == TicketPath {
		err = p.redeem(r, a)
	} else {
		err = p.admit(r, a)
	}
	if err != nil {
		return err
	}
	held, err := p.enter(r, a.caller)
	if err != nil {
		return err
	}
	defer held.Leave()
	return p.forward(w, r, a)
}

// noCluster returns the error for a cluster that does not exist or that the
// caller may not see.
func noCluster(handle string) error {
	return errcode.New(errcode.NotFound, "no cluster has the handle %.80q; axle clusters list shows those that exist", handle)
}

// cluster finds a cluster by handle, from the cache when it was just looked up.
func (p *Proxy) cluster(ctx context.Context, handle string) (Cluster, error) {
	now := p.config.Clock.Now()
	p.mu.Lock()
	k, ok := p.known[handle]
	p.mu.Unlock()
	if ok && now.Sub(k.at) < clusterFor {
		return k.Cluster, nil
	}
	c, err := p.config.Cluster(ctx, handle)
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
