package console

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"connectrpc.com/connect"

	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/hub/console/auditapi"
	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/peer"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/routes"
)

// maxRequest bounds one message from a client, in bytes.
const maxRequest = 8 << 20

// Events reads what happened within reach, newest first. Cluster and service
// are ids, empty for all; zero limit is the log's own default.
type Events func(ctx context.Context, cluster, service string, after int64, limit int, r identity.Reach) ([]event.Entry, error)

// Lives is the history of the hub's database.
type Lives interface {
	Incarnation(ctx context.Context) (event.Incarnation, error)
	ConfirmIncarnation(ctx context.Context) (event.Incarnation, error)
}

// Tunnels are the connections that agents keep.
type Tunnels interface {
	// State is Up, Down or Off, and since when in microseconds since 1970 UTC,
	// 0 when that is not known.
	State(clusterID string) (state string, since int64)
}

// Replica is one process of the hub, with how many repositories it owns.
type Replica struct {
	peer.Replica
	Repositories int
}

// Config is what the edge needs. All parts are required; texts may be empty.
type Config struct {
	Identity *identity.Directory
	Fleet    *fleet.Fleet
	Cache    *gitcache.Cache
	Agents   AgentUpgrades
	Webhooks gitcache.Webhooks
	Values   Values
	Movable  Movable
	// People knows whose session a call comes with; nil knows none.
	People People
	// Audit takes a record of every call that may change something.
	Audit  *audit.Log
	Feed   *event.Feed
	Events Events
	Lives  Lives
	// Replicas lists the hub's processes.
	Replicas func(ctx context.Context) ([]Replica, error)
	// Registered finds the repository that somebody registered and a source is
	// in. NotFound.
	Registered func(ctx context.Context, want fleet.SourceWant) (gitcache.Repository, error)
	// ServicesByRepository counts services within reach, by repository id.
	ServicesByRepository func(ctx context.Context, r identity.Reach) (map[string]int, error)
	// ServicesBySource counts those of one repository, by source id.
	ServicesBySource func(ctx context.Context, repositoryID string, r identity.Reach) (map[string]int, error)
	// UsesOfBags counts those that use each context or outputs, by name.
	UsesOfBags func(ctx context.Context, kind string, r identity.Reach) (map[string]int, error)
	// Placements tells which replica fetches each repository and which one
	// keeps a second copy, by repository id.
	Placements func(ctx context.Context) (map[string]gitcache.Placement, error)
	// Tunnels knows whether each cluster can be asked; nil when nobody does.
	Tunnels Tunnels
	// Drain tells a replica to own nothing any more, or takes that back.
	Drain func(ctx context.Context, replica string, leaving bool) error

	// WebhookPath is where a webhook's deliveries go, below ExternalURL.
	WebhookPath func(gitcache.Webhook) string

	// ClusterReader reaches clusters for people.
	ClusterReader ClusterReader
	// ClustersURL is what a cluster's handle stands behind in a kubeconfig;
	// TicketPath takes WebSockets with tickets.
	ClustersURL, TicketPath string

	// ExternalURL is what agents should dial.
	ExternalURL string
	// CAPEM is the authority that agents should trust, empty for the system's.
	CAPEM string
	// Database says which one it is, for people.
	Database string
	Version  string
	Clock    clock.Clock
	Log      *slog.Logger
}

// Server answers people.
type Server struct {
	Config
	startedAt time.Time
	// trees holds a place for each tree that is being looked for.
	trees chan struct{}
}

// New checks that nothing is missing.
func New(c Config) (*Server, error) {
	if c.Identity == nil || c.Fleet == nil || c.Cache == nil || c.Feed == nil || c.Events == nil || c.Lives == nil {
		return nil, errors.New("console: a part is missing")
	}
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Server{Config: c, startedAt: c.Clock.Now(), trees: make(chan struct{}, treesAtOnce)}, nil
}

// clusterID is a cluster's id by name, or by id of one that was deleted.
func (s *Server) clusterID(ctx context.Context, name string) string {
	if c, err := s.Fleet.ClusterNamed(ctx, name); err == nil {
		return c.ID
	}
	return name
}

// Register adds the routes of every service to mux.
func (s *Server) Register(mux routes.Adder) {
	records := newRecorder(s)
	options := []connect.HandlerOption{
		connect.WithInterceptors(records, admission{s}, connect.UnaryInterceptorFunc(records.look)),
		connect.WithReadMaxBytes(maxRequest),
	}
	mux.Handle(hubv1connect.NewSessionsHandler(&sessions{s}, options...))
	mux.Handle(hubv1connect.NewProjectsHandler(&projects{s}, options...))
	mux.Handle(hubv1connect.NewClustersHandler(&clusters{s}, options...))
	mux.Handle(hubv1connect.NewRepositoriesHandler(&repositories{s}, options...))
	mux.Handle(hubv1connect.NewWebhooksHandler(&webhooks{s}, options...))
	mux.Handle(hubv1connect.NewServicesHandler(&services{s}, options...))
	mux.Handle(hubv1connect.NewContextsHandler(&contexts{s}, options...))
	mux.Handle(hubv1connect.NewOutputsHandler(&outputs{s}, options...))
	mux.Handle(hubv1connect.NewBackendsHandler(&backends{s}, options...))
	mux.Handle(hubv1connect.NewTokensHandler(&tokens{s}, options...))
	mux.Handle(hubv1connect.NewEventsHandler(&events{s}, options...))
	mux.Handle(hubv1connect.NewUsersHandler(&users{s}, options...))
	mux.Handle(hubv1connect.NewGroupsHandler(&groups{s}, options...))
	mux.Handle(hubv1connect.NewBindingsHandler(&bindings{s}, options...))
	mux.Handle(hubv1connect.NewAccessHandler(&accessCalls{s}, options...))
	mux.Handle(hubv1connect.NewAuditHandler(&auditapi.API{Log: s.Audit, ClusterID: s.clusterID}, options...))
	mux.Handle(hubv1connect.NewServiceAccountsHandler(&serviceAccounts{s}, options...))
	mux.Handle(hubv1connect.NewFederationHandler(&federation{Server: s}, options...))
	mux.Handle(hubv1connect.NewLoginsHandler(&logins{s}, options...))
	mux.Handle(hubv1connect.NewProvidersHandler(&providers{s}, options...))
	mux.Handle(hubv1connect.NewAgentsHandler(&agents{s}, options...))
	mux.Handle(hubv1connect.NewClusterAPIHandler(&clusterAPI{s}, options...))
	mux.Handle(hubv1connect.NewHubHandler(&hub{s}, options...))
}
