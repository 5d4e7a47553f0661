package console

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"time"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/hub/application"
	"github.com/axle-cd/axle/hub/backup"
	"github.com/axle-cd/axle/hub/clusterapi"
	"github.com/axle-cd/axle/hub/config"
	"github.com/axle-cd/axle/hub/console/agentsapi"
	"github.com/axle-cd/axle/hub/console/auditapi"
	"github.com/axle-cd/axle/hub/console/credentialapi"
	"github.com/axle-cd/axle/hub/console/federationapi"
	"github.com/axle-cd/axle/hub/console/fleetapi"
	"github.com/axle-cd/axle/hub/console/globalsapi"
	"github.com/axle-cd/axle/hub/console/groupsapi"
	"github.com/axle-cd/axle/hub/console/inuse"
	"github.com/axle-cd/axle/hub/console/liveapi"
	"github.com/axle-cd/axle/hub/console/operationsapi"
	"github.com/axle-cd/axle/hub/console/providersapi"
	"github.com/axle-cd/axle/hub/console/readinessapi"
	"github.com/axle-cd/axle/hub/console/webhooksapi"
	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/globals"
	"github.com/axle-cd/axle/hub/fleet/index"
	"github.com/axle-cd/axle/hub/fleet/namespaces"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/hub/identity/agentkey"
	"github.com/axle-cd/axle/hub/identity/federation"
	"github.com/axle-cd/axle/hub/notify"
	"github.com/axle-cd/axle/hub/objects"
	"github.com/axle-cd/axle/hub/observe"
	"github.com/axle-cd/axle/hub/operations"
	"github.com/axle-cd/axle/hub/peer"
	"github.com/axle-cd/axle/hub/preview"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/pool"
	"github.com/axle-cd/axle/internal/risk"
	"github.com/axle-cd/axle/internal/routes"
)

// maxRequest limits one message from a client, in bytes.
const maxRequest = 8 << 20

// Events reads events within reach, newest first. Cluster and service are ids;
// empty means all. A limit of 0 is the event log's default.
type Events func(ctx context.Context, cluster, service string, after int64, limit int, r identity.Reach) ([]event.Entry, error)

// Lives returns the history of the hub's database.
type Lives interface {
	Incarnation(ctx context.Context) (event.Incarnation, error)
	ConfirmIncarnation(ctx context.Context) (event.Incarnation, error)
}

// Tunnels knows the connections that agents keep.
type Tunnels interface {
	// State returns Up, Down or Off, and since when in microseconds since 1970
	// UTC; 0 when that is unknown.
	State(clusterID string) (state string, since int64)
}

// Replica is one process of the hub, with the number of repositories it owns.
type Replica struct {
	peer.Replica
	Repositories int
}

// Config holds the server's dependencies. All parts are required; texts may be empty.
type Config struct {
	Identity  *identity.Directory
	Accounts  *account.Accounts
	AgentKeys *agentkey.Keys
	Trusts    *federation.Trusts
	Fleet     *fleet.Fleet
	// Index finds clusters and services without a query.
	Index *index.Index
	// Streams tell what changed.
	Streams  fleetapi.Streams
	Globals  *globals.Globals
	Rollouts *globals.Rollouts
	// Operations act on many services.
	Operations *operations.Operations
	// Namespaces manages namespaces with Globals.
	Namespaces *namespaces.Namespaces
	// Notifier has the sinks and routers of notifications.
	Notifier *notify.Notifier
	// Objects are those of the kinds without a table of their own.
	Objects *objects.Objects
	// Applications are the clients of the identity provider.
	Applications *application.Applications
	// Observer reads the metrics, logs and alerts of clusters; nil reads none.
	Observer *observe.Observer
	// SignIns are the logins of people to them.
	SignIns SignIns
	// Made makes clusters from templates.
	Made     *clusterapi.Clusters
	Cache    *gitcache.Cache
	Previews *preview.Previews
	Agents   agentsapi.Upgrades
	Webhooks gitcache.Webhooks
	Values   Values
	Movable  Movable
	// ValueSetByName returns the scope of a context or outputs, without their
	// values. NotFound when it does not exist.
	ValueSetByName func(ctx context.Context, kind, name string) (config.ValueSetRow, error)
	// People finds the session of a call; nil supports no sessions and no trials of login
	// providers.
	People People
	// Audit receives a record of every call that may change something.
	Audit   *audit.Log
	Feed    *event.Feed
	Events  Events
	Changes fleetapi.Changes
	Lives   Lives
	// Replicas lists the hub's processes.
	Replicas func(ctx context.Context) ([]Replica, error)
	// ServicesByRepository counts services within reach by repository id, for
	// all repositories or the given one.
	ServicesByRepository func(ctx context.Context, repositoryID string, r identity.Reach) (map[string]int, error)
	// RepositoryUsers counts who is bound to a repository.
	RepositoryUsers inuse.Users
	// Risks lists the sources at risk of the whole fleet.
	// ServicesBySource counts the services of one repository by source id.
	ServicesBySource func(ctx context.Context, repositoryID string, r identity.Reach) (map[string]int, error)
	// UsesOfValueSets counts the services that use each context or outputs, by name.
	UsesOfValueSets func(ctx context.Context, kind string, r identity.Reach) (map[string]int, error)
	// Placements returns which replica fetches each repository and which one keeps
	// a second copy, by repository id, for all repositories or the given one.
	Placements func(ctx context.Context, repositoryID string) (map[string]gitcache.Placement, error)
	// Tunnels knows the state of each cluster's tunnel; nil when the hub has no
	// tunnels.
	Tunnels Tunnels
	// Drain tells a replica to give up its repositories, or revokes that.
	Drain func(ctx context.Context, replica string, leaving bool) error
	// AtRisk lists what is older than a rule that would refuse it today, and how much
	// there is.
	AtRisk func(ctx context.Context, limit int) ([]risk.Risk, int, error)
	// Backups knows the scheduled backups.
	Backups interface {
		Status(ctx context.Context) (backup.Status, error)
	}
	// WebhookPath is the path, below ExternalURL, to which a webhook's deliveries go.
	WebhookPath func(gitcache.Webhook) string

	// Pools has the pools; nil has them without metrics.
	Pools *pool.Set
	// Live makes requests to clusters for people.
	Live liveapi.Clusters
	// ClustersURL is the prefix of a cluster's handle in a kubeconfig's server
	// URL; TicketPath accepts WebSockets with tickets.
	ClustersURL, TicketPath string

	// ExternalURL is the URL that people reach, AgentsURL the one that agents dial.
	ExternalURL, AgentsURL string
	// Deploy has the files of the agent's manifests.
	Deploy fs.FS
	// AgentImage is the image of new agents.
	AgentImage string
	// CAPEM is the certificate authority that agents should trust; empty for
	// the system's.
	CAPEM string
	// Database names the kind of database, for people.
	Database string
	Version  string
	Clock    clock.Clock
	Log      *slog.Logger
}

// Server implements the API for people.
type Server struct {
	config    Config
	startedAt time.Time
	// trees limits how many object trees are read at once.
	trees *pool.Places
	// calls limits how many calls of those who are known are answered at once.
	calls *pool.Places
}

// New returns an error when a required part is missing.
func New(c Config) (*Server, error) {
	if c.Identity == nil || c.Accounts == nil || c.AgentKeys == nil || c.Trusts == nil || c.Fleet == nil || c.Index == nil || c.Globals == nil || c.Namespaces == nil || c.Notifier == nil || c.Objects == nil || c.Made == nil || c.Cache == nil || c.Feed == nil || c.Events == nil || c.Lives == nil {
		return nil, errors.New("console: a part is missing")
	}
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Server{
		config: c, startedAt: c.Clock.Now(),
		trees: c.Pools.Places(pool.Spec{Name: "object_trees", Of: "object trees", Size: treesAtOnce, Reserve: 1, Queue: treesWaiting, Within: treeWait, Retry: 5 * time.Second}),
		calls: c.Pools.Places(pool.Spec{Name: "calls", Of: "calls at once", Size: callsAtOnce, Reserve: callsAtOnce / 10, Retry: time.Second}),
	}, nil
}

// clusterID returns a cluster's id by name; the id of a deleted cluster is
// returned unchanged.
func (s *Server) clusterID(ctx context.Context, name string) string {
	if c, err := s.config.Fleet.ClusterNamed(ctx, name); err == nil {
		return c.ID
	}
	return name
}

// Register adds the routes of every service to mux.
func (s *Server) Register(mux routes.Adder) {
	records := &recorder{s}
	mux.Handle(handle[hubv1connect.SessionsHandler](s, records, hubv1connect.NewSessionsHandler, &sessions{s}))
	mux.Handle(handle[hubv1connect.ProjectsHandler](s, records, hubv1connect.NewProjectsHandler, &projects{s}))
	bulk := &operationsapi.API{Operations: s.config.Operations, Caller: caller, Readable: s.readable}
	lists := &fleetapi.API{
		Index: s.config.Index, Fleet: s.config.Fleet, Readable: s.readable, Cluster: s.cluster, Service: service, Position: s.config.Feed.Position, Rollouts: s.config.Rollouts, Changes: s.config.Changes, Life: s.config.Lives.Incarnation, HubAtRisk: s.hubClusterRisk, Streams: s.config.Streams, Clock: s.config.Clock, Own: fleetapi.Own{Caller: caller, Operations: bulk.Needs, Tokens: s.config.Identity.Tokens, Ending: s.config.Identity.EndingTokens},
	}
	bulk.Services = lists
	mux.Handle(handle[hubv1connect.ClustersHandler](s, records, hubv1connect.NewClustersHandler, &clusters{
		s, lists, &readinessapi.API{Live: s.live(), Services: s.config.Fleet.Services, Readable: s.readable, Matrix: s.matrix},
		&credentialapi.Credentials{Live: s.live(), Fleet: s.config.Fleet, Proved: func(ctx context.Context) error { return s.config.Identity.Proved(ctx, caller(ctx)) }},
	}))
	mux.Handle(handle[hubv1connect.RepositoriesHandler](s, records, hubv1connect.NewRepositoriesHandler, &repositories{s}))
	mux.Handle(handle[hubv1connect.WebhooksHandler](s, records, hubv1connect.NewWebhooksHandler, &webhooksapi.API{
		Webhooks: s.config.Webhooks, Repositories: s.config.Cache.Repositories, Find: (&repositories{s}).find, Readable: s.readable, Scope: s.webhookScope,
		URL: func(w gitcache.Webhook) string { return s.config.ExternalURL + s.config.WebhookPath(w) },
	}))
	mux.Handle(handle[hubv1connect.ServicesHandler](s, records, hubv1connect.NewServicesHandler, &services{s, lists}))
	templates := globalsapi.API{Globals: s.config.Globals, Rollouts: s.config.Rollouts, Readable: s.readable, By: func(ctx context.Context) string { return caller(ctx).By() }}
	mux.Handle(handle[hubv1connect.GlobalServicesHandler](s, records, hubv1connect.NewGlobalServicesHandler, &templates))
	mux.Handle(handle[hubv1connect.ManagedNamespacesHandler](s, records, hubv1connect.NewManagedNamespacesHandler, &globalsapi.Namespaces{API: templates, Managed: s.config.Namespaces}))
	s.registerNotifications(mux, records)
	s.registerStored(mux, records)
	s.registerObserve(mux, records)
	mux.Handle(handle[hubv1connect.ContextsHandler](s, records, hubv1connect.NewContextsHandler, &contexts{s}))
	mux.Handle(handle[hubv1connect.OutputsHandler](s, records, hubv1connect.NewOutputsHandler, &outputs{s}))
	mux.Handle(handle[hubv1connect.BackendsHandler](s, records, hubv1connect.NewBackendsHandler, &backends{s}))
	mux.Handle(handle[hubv1connect.TokensHandler](s, records, hubv1connect.NewTokensHandler, &tokens{s}))
	mux.Handle(handle[hubv1connect.EventsHandler](s, records, hubv1connect.NewEventsHandler, &events{s}))
	mux.Handle(handle[hubv1connect.UsersHandler](s, records, hubv1connect.NewUsersHandler, &users{s}))
	mux.Handle(handle[hubv1connect.GroupsHandler](s, records, hubv1connect.NewGroupsHandler, &groupsapi.API{Identity: s.config.Identity, By: func(ctx context.Context) string { return caller(ctx).By() }}))
	mux.Handle(handle[hubv1connect.BindingsHandler](s, records, hubv1connect.NewBindingsHandler, &bindings{s}))
	mux.Handle(handle[hubv1connect.AccessHandler](s, records, hubv1connect.NewAccessHandler, &accessCalls{s}))
	mux.Handle(handle[hubv1connect.AuditHandler](s, records, hubv1connect.NewAuditHandler, &auditapi.API{Log: s.config.Audit, ClusterID: s.clusterID}))
	mux.Handle(handle[hubv1connect.ServiceAccountsHandler](s, records, hubv1connect.NewServiceAccountsHandler, &serviceAccounts{s}))
	mux.Handle(handle[hubv1connect.FederationHandler](s, records, hubv1connect.NewFederationHandler, &federationapi.API{
		Trusts: s.config.Trusts, Exchanges: federationapi.Pool(s.config.Pools, s.config.Clock), Caller: caller, Exchanged: func(ctx context.Context, made identity.CreatedToken) *connect.Response[hubv1.CreatedToken] {
			noteCaller(ctx, made.Principal())
			return createdToken(made)
		},
	}))
	mux.Handle(handle[hubv1connect.LoginsHandler](s, records, hubv1connect.NewLoginsHandler, &logins{s}))
	mux.Handle(handle[hubv1connect.ProvidersHandler](s, records, hubv1connect.NewProvidersHandler, &providersapi.API{Accounts: s.config.Accounts, URL: s.config.ExternalURL, Caller: caller, Trials: s.config.People}))
	mux.Handle(handle[hubv1connect.AgentsHandler](s, records, hubv1connect.NewAgentsHandler, &agentsapi.API{
		Upgrades: s.config.Agents, Builtins: s.config.Fleet.Builtins, Readable: s.readable, By: templates.By, Version: s.config.Version,
	}))
	mux.Handle(handle[hubv1connect.ClusterAPIHandler](s, records, hubv1connect.NewClusterAPIHandler, s.live()))
	whole, overview := handle[hubv1connect.FleetHandler](s, records, hubv1connect.NewFleetHandler, lists)
	mux.Handle(whole, fleetapi.Cuttable(overview))
	mux.Handle(handle[hubv1connect.OperationsHandler](s, records, hubv1connect.NewOperationsHandler, bulk))
	mux.Handle(handle[hubv1connect.HubHandler](s, records, hubv1connect.NewHubHandler, &hub{s}))
}
