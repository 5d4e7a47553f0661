package agentapi

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"github.com/axle-cd/axle/api/agent/v1/agentv1connect"
	"github.com/axle-cd/axle/hub/desired"
	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/agentkey"
	"github.com/axle-cd/axle/internal/boundedcall"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/pool"
	"github.com/axle-cd/axle/internal/routes"
)

// Identity authenticates callers; *identity.Directory implements it.
type Identity interface {
	Authenticate(ctx context.Context, bearer string) (identity.Principal, error)
}

// Keys registers agents and signs answers; *agentkey.Keys implements it.
type Keys interface {
	Register(ctx context.Context, bearer string, r agentkey.Registration) (agentkey.Registered, error)
	Renew(ctx context.Context, r agentkey.Renewal) (agentkey.Renewed, error)
	CheckBoot(ctx context.Context, clusterID, bootID string) error
	Sign(ctx context.Context, payload []byte) (agentkey.Signature, error)
	Trade(ctx context.Context, bearer string, f agentkey.Finding) (agentkey.Enrolled, identity.CreatedToken, error)
	// Refused records that an agent received something that was not what the
	// hub sent.
	Refused(ctx context.Context, cluster identity.Principal, what string) error
}

// Fleet stores what agents report and returns what they need.
type Fleet interface {
	Seen(clusterID string, at time.Time)
	StatusHash(clusterID string) string
	AgentSpecs(ctx context.Context, clusterID string, ids []string) ([]fleet.AgentSpec, []string, error)
	StoreReports(ctx context.Context, b fleet.ReportBatch) (fleet.ReportResult, error)
	Ping(ctx context.Context, clusterID string, p fleet.ClusterPing) error
	StoreTestRuns(ctx context.Context, clusterID string, runs []fleet.TestRun) error
	StoreDiff(ctx context.Context, clusterID string, d fleet.Diff) error
	StoreMadeStates(ctx context.Context, managementID string, states map[string]fleet.MadeState) error
	StoreCleanup(ctx context.Context, clusterID string, r fleet.Cleanup, done bool) error
}

// Desired returns what each cluster should run.
type Desired interface {
	ETag(clusterID string) (string, error)
	For(clusterID string) (desired.List, error)
	MayFetch(clusterID, digest string) bool
	Pending(clusterID string) (bool, error)
}

// Tarballs returns the bytes of a digest.
type Tarballs interface {
	// Fetch returns NotFound, Unprocessable, Unavailable or Exhausted errors.
	Fetch(ctx context.Context, d digest.Digest) (*gitcache.Tarball, error)
	// Delta returns a delta from one content to another, or an error when the
	// whole tarball is the better answer.
	Delta(ctx context.Context, from, to digest.Digest) (*gitcache.Tarball, error)
	// Gzip is Fetch with gzip compression.
	Gzip(ctx context.Context, d digest.Digest) (*gitcache.Tarball, error)
}

// Feed returns the position of this replica.
type Feed interface {
	Position() event.Position
	Ready() error
	// CatchUp returns Unavailable when the position is not reached within 2 s,
	// or when the caller is not known.
	CatchUp(ctx context.Context, seen event.Position, known func(context.Context) error) error
	// Proof returns a proof of a position that Recall accepts later.
	Proof(at event.Position) string
	Recall(shown, witness string) bool
}

// Audit records the actions of agents that people look for later.
type Audit interface {
	Add(ctx context.Context, r audit.Record)
}

// Config configures a Server. The fields before the blank line are required.
type Config struct {
	Identity Identity
	Keys     Keys
	Fleet    Fleet
	Desired  Desired
	Tarballs Tarballs
	Feed     Feed
	Children Children

	// Previews are the requested comparisons; nil disables them.
	Previews Previews
	// Audit records registrations, agents that share one identity, and the clusters
	// that others connect; nil records nothing.
	Audit Audit
	// Replica names this replica in answers, so that agents can report which
	// one sent them.
	Replica string
	// PollInterval is sent to agents that register; zero is 2 min.
	PollInterval time.Duration
	// MaxUnderWay is how many calls may be in progress before further agents
	// get no list, of which those of one project have a half; zero is 512.
	MaxUnderWay int
	Clock       clock.Clock
	Log         *slog.Logger
	// Project returns a cluster's project, whose agents share what they may take; nil
	// knows none.
	Project func(clusterID string) string
	// Pools has the pools; nil has them without metrics.
	Pools *pool.Set
	// Registerer registers the metrics; nil registers none.
	Registerer prometheus.Registerer
}

// Server answers agents.
type Server struct {
	config        Config
	log           *slog.Logger
	registrations registrations
	position      positionHeader
	// unreached limits how often agents with a newer position are logged.
	unreached rate.Sometimes
	kept      keptHeaders
	refusals  refusals
	crowd     *pool.Places
	metrics   *metrics
	routes    *routes.Mux
}

// The limits of request bodies and of the time that a request may take.
const (
	smallBody   = 64 << 10
	reportBody  = 8 << 20
	bodyTimeout = 30 * time.Second
	// callTimeout limits a call, including its wait for the feed.
	callTimeout = 20 * time.Second
	// defaultPollInterval is long because most changes come by hint.
	defaultPollInterval = 2 * time.Minute
)

// New returns a Server that answers 503 until the feed is ready.
func New(c Config) (*Server, error) {
	if c.Identity == nil || c.Keys == nil || c.Fleet == nil || c.Desired == nil || c.Tarballs == nil || c.Feed == nil || c.Children == nil {
		return nil, errors.New("agentapi: identity, fleet, desired lists, tarballs, a feed and children are needed")
	}
	if c.Previews == nil {
		c.Previews = noPreviews{}
	}
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.PollInterval == 0 {
		c.PollInterval = defaultPollInterval
	}
	if c.Project == nil {
		c.Project = func(string) string { return "" }
	}
	c.MaxUnderWay = cmp.Or(c.MaxUnderWay, mostUnderWay)
	s := &Server{config: c, log: c.Log, crowd: newCrowd(c), registrations: newRegistrations(c.Pools, c.Clock), metrics: newMetrics(c.Registerer),
		unreached: rate.Sometimes{Interval: time.Minute}}
	s.routes = s.mux()
	return s, nil
}

// desiredPath is what agents poll.
const desiredPath = "/agent/v1/desired"

// ServeHTTP answers everything below /agent/v1/ and the agents' RPC service.
// The poll bypasses the router, which allocates.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && r.URL.Path == desiredPath {
		s.desired(w, r)
		return
	}
	s.routes.ServeHTTP(w, r)
}

// servicePath is the prefix of the agents' calls.
const servicePath = "/" + agentv1connect.AgentServiceName + "/"

// Owns reports whether a path belongs to agents.
func Owns(path string) bool {
	return strings.HasPrefix(path, "/agent/v1/") || strings.HasPrefix(path, servicePath)
}

// Patterns returns the patterns of all routes of the server.
func (s *Server) Patterns() []string { return s.routes.Patterns() }

func (s *Server) mux() *routes.Mux {
	mux := &routes.Mux{}
	mux.HandleFunc("GET "+desiredPath, s.desired)
	mux.HandleFunc("GET /agent/v1/tarballs/{digest}", s.tarball)
	handler := func(bytes int) (string, http.Handler) {
		path, h := agentv1connect.NewAgentServiceHandler(calls{s}, connect.WithInterceptors(&edge{s}), boundedcall.Handler(bytes), connect.WithCompressMinBytes(1024))
		return path, boundedcall.Serve(h, bytes)
	}
	path, rpc := handler(reportBody)
	mux.Handle(path, limitBody(s.signedIn(rpc), reportBody, bodyTimeout))
	_, small := handler(smallBody)
	for _, open := range openCalls {
		mux.Handle(open, small)
	}
	return mux
}

// openCalls create an identity, so they need none. The caller that mounts the
// server limits their bodies, together with those of all unauthenticated
// requests.
var openCalls = []string{agentv1connect.AgentServiceRegisterProcedure, agentv1connect.AgentServiceRenewProcedure}

// Open reports whether a path is a call that needs no identity.
func Open(path string) bool { return slices.Contains(openCalls, path) }
