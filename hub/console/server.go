package console

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/hub/config"
	"github.com/axle-cd/axle/hub/console/auditapi"
	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/peer"
	"github.com/axle-cd/axle/hub/preview"
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
	Previews *preview.Previews
	Agents   AgentUpgrades
	Webhooks gitcache.Webhooks
	Values   Values
	Movable  Movable
	// BagByName tells where a context or outputs are, without their values.
	// NotFound.
	BagByName func(ctx context.Context, kind, name string) (config.BagRow, error)
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
	// ServicesByRepository counts services within reach, by repository id, or of the one named.
	ServicesByRepository func(ctx context.Context, repositoryID string, r identity.Reach) (map[string]int, error)
	// ServicesBySource counts those of one repository, by source id.
	ServicesBySource func(ctx context.Context, repositoryID string, r identity.Reach) (map[string]int, error)
	// UsesOfBags counts those that use each context or outputs, by name.
	UsesOfBags func(ctx context.Context, kind string, r identity.Reach) (map[string]int, error)
	// Placements tells which replica fetches each repository and which one
	// keeps a second copy, by repository id; of one when one is named.
	Placements func(ctx context.Context, repositoryID string) (map[string]gitcache.Placement, error)
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
	mux.Handle(handle[hubv1connect.SessionsHandler](s, records, hubv1connect.NewSessionsHandler, &sessions{s}))
	mux.Handle(handle[hubv1connect.ProjectsHandler](s, records, hubv1connect.NewProjectsHandler, &projects{s}))
	mux.Handle(handle[hubv1connect.ClustersHandler](s, records, hubv1connect.NewClustersHandler, &clusters{s}))
	mux.Handle(handle[hubv1connect.RepositoriesHandler](s, records, hubv1connect.NewRepositoriesHandler, &repositories{s}))
	mux.Handle(handle[hubv1connect.WebhooksHandler](s, records, hubv1connect.NewWebhooksHandler, &webhooks{s}))
	mux.Handle(handle[hubv1connect.ServicesHandler](s, records, hubv1connect.NewServicesHandler, &services{s}))
	mux.Handle(handle[hubv1connect.ContextsHandler](s, records, hubv1connect.NewContextsHandler, &contexts{s}))
	mux.Handle(handle[hubv1connect.OutputsHandler](s, records, hubv1connect.NewOutputsHandler, &outputs{s}))
	mux.Handle(handle[hubv1connect.BackendsHandler](s, records, hubv1connect.NewBackendsHandler, &backends{s}))
	mux.Handle(handle[hubv1connect.TokensHandler](s, records, hubv1connect.NewTokensHandler, &tokens{s}))
	mux.Handle(handle[hubv1connect.EventsHandler](s, records, hubv1connect.NewEventsHandler, &events{s}))
	mux.Handle(handle[hubv1connect.UsersHandler](s, records, hubv1connect.NewUsersHandler, &users{s}))
	mux.Handle(handle[hubv1connect.GroupsHandler](s, records, hubv1connect.NewGroupsHandler, &groups{s}))
	mux.Handle(handle[hubv1connect.BindingsHandler](s, records, hubv1connect.NewBindingsHandler, &bindings{s}))
	mux.Handle(handle[hubv1connect.AccessHandler](s, records, hubv1connect.NewAccessHandler, &accessCalls{s}))
	mux.Handle(handle[hubv1connect.AuditHandler](s, records, hubv1connect.NewAuditHandler, &auditapi.API{Log: s.Audit, ClusterID: s.clusterID}))
	mux.Handle(handle[hubv1connect.ServiceAccountsHandler](s, records, hubv1connect.NewServiceAccountsHandler, &serviceAccounts{s}))
	mux.Handle(handle[hubv1connect.FederationHandler](s, records, hubv1connect.NewFederationHandler, &federation{Server: s}))
	mux.Handle(handle[hubv1connect.LoginsHandler](s, records, hubv1connect.NewLoginsHandler, &logins{s}))
	mux.Handle(handle[hubv1connect.ProvidersHandler](s, records, hubv1connect.NewProvidersHandler, &providers{s}))
	mux.Handle(handle[hubv1connect.AgentsHandler](s, records, hubv1connect.NewAgentsHandler, &agents{s}))
	mux.Handle(handle[hubv1connect.ClusterAPIHandler](s, records, hubv1connect.NewClusterAPIHandler, &clusterAPI{s}))
	mux.Handle(handle[hubv1connect.HubHandler](s, records, hubv1connect.NewHubHandler, &hub{s}))
}
