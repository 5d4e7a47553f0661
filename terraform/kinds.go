package terraform

import (
	"context"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	description "github.com/axle-cd/axle/api/object"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/terraform/shape"
)

// kind is a kind of object of the hub. Its attributes are the fields of the request of
// create, and those of the object in shows.
type kind struct {
	// name is that of the resource without axle_.
	name string
	// object is the message that describes one in answers.
	object proto.Message
	create *call
	// update is nil if nothing can be changed: then each attribute replaces the object.
	update *call
	remove *call
	// get reads one, list those of a scope. One of them is enough.
	get, list *call
	// keys are the attributes that name an object, also in the id of an import, joined
	// by slashes. scope are those that the request of list takes, as its fields are
	// called.
	keys  []string
	scope map[string]protoreflect.Name
	// also is another field of the object to import it by.
	also protoreflect.Name
	// shows are fields of the object that nobody declares.
	shows []string
	// manager is the field with who manages it, managed_by by default.
	manager protoreflect.Name
	// creating, updating and removing complete a request.
	creating, updating, removing func(request proto.Message)
	// made is = and what the names of the services end in that the hub makes for an
	// object of this name; empty if it makes none.
	made string
	// upserts is set if create would change an object that exists.
	upserts bool
	// takes is set if an update is a create that takes over.
	takes bool
	// exists is false for an object that the hub has without what is declared.
	exists func(object proto.Message) bool
	// rows makes an object of the rows of a list. want is what a create would ask for.
	rows func(rows []proto.Message, want proto.Message, by *hubv1.Manager) (object proto.Message, manager *hubv1.Manager)
	// change replaces update for an object of rows.
	change func(ctx context.Context, c *sdk.Client, have, want proto.Message, m *hubv1.Management) error
	// formerly is the type of the existing provider whose state can be moved here.
	formerly string
	// plural is the name of the data source of the list, if it is not name with an s.
	plural string
	// installs is set for clusters, whose agent the provider installs.
	installs bool

	attributes []*shape.Node
}

var all = []*kind{
	{
		name: "project", object: &hubv1.Project{}, formerly: "plural_project",
		create: via(projects, hubv1connect.ProjectsClient.Create), update: via(projects, hubv1connect.ProjectsClient.Update), remove: via(projects, hubv1connect.ProjectsClient.Delete),
		get: via(projects, hubv1connect.ProjectsClient.Get), list: via(projects, hubv1connect.ProjectsClient.List), keys: []string{"name"},
	},
	{
		name: "project_limits", object: &hubv1.Project{},
		create: via(projects, hubv1connect.ProjectsClient.Update), update: via(projects, hubv1connect.ProjectsClient.Update), remove: via(projects, hubv1connect.ProjectsClient.Update),
		get: via(projects, hubv1connect.ProjectsClient.Get), list: via(projects, hubv1connect.ProjectsClient.List), keys: []string{"project"}, manager: "limits_managed_by",
		updating: withLimits, creating: withLimits,
		removing: func(r proto.Message) { r.(*hubv1.UpdateProjectRequest).Limits = &hubv1.ProjectLimits{} },
	},
	{
		name: "cluster", object: &hubv1.Cluster{}, formerly: "plural_cluster", installs: true,
		create: via(clusters, hubv1connect.ClustersClient.Create), update: via(clusters, hubv1connect.ClustersClient.Update), remove: via(clusters, hubv1connect.ClustersClient.Delete),
		get: via(clusters, hubv1connect.ClustersClient.Get), list: via(clusters, hubv1connect.ClustersClient.List), keys: []string{"name"}, also: "handle",
		updating: func(r proto.Message) {
			u := r.(*hubv1.UpdateClusterRequest)
			u.SetTags, u.SetMetadata = true, true
		},
	},
	{
		name: "repository", object: &hubv1.Repository{}, formerly: "plural_git_repository", plural: "repositories",
		create: via(repositories, hubv1connect.RepositoriesClient.Create), update: via(repositories, hubv1connect.RepositoriesClient.Update), remove: via(repositories, hubv1connect.RepositoriesClient.Delete),
		get: via(repositories, hubv1connect.RepositoriesClient.Get), list: via(repositories, hubv1connect.RepositoriesClient.List), keys: []string{"name"}, also: "url",
		updating: func(r proto.Message) {
			u := r.(*hubv1.UpdateRepositoryRequest)
			if u.Options == nil {
				u.Options = &hubv1.RepositoryOptions{}
			}
		},
	},
	{
		name: "webhook", object: &hubv1.Webhook{}, formerly: "plural_scm_webhook", shows: []string{"url"}, takes: true,
		create: via(webhooks, hubv1connect.WebhooksClient.Create), update: via(webhooks, hubv1connect.WebhooksClient.Create), remove: via(webhooks, hubv1connect.WebhooksClient.Delete),
		list: via(webhooks, hubv1connect.WebhooksClient.List), keys: []string{"name"},
	},
	{
		name: "service", object: &hubv1.Service{}, formerly: "plural_service_deployment",
		create: via(services, hubv1connect.ServicesClient.Create), update: via(services, hubv1connect.ServicesClient.Update), remove: via(services, hubv1connect.ServicesClient.Delete),
		get: via(services, hubv1connect.ServicesClient.Get), list: via(services, hubv1connect.ServicesClient.List), keys: []string{"cluster", "name"}, scope: map[string]protoreflect.Name{"cluster": "cluster"},
	},
	{
		name: "global_service", upserts: true, made: "=", object: &hubv1.GlobalService{}, formerly: "plural_global_service",
		create: via(globals, hubv1connect.GlobalServicesClient.Apply), update: via(globals, hubv1connect.GlobalServicesClient.Apply), remove: via(globals, hubv1connect.GlobalServicesClient.Delete),
		get: via(globals, hubv1connect.GlobalServicesClient.Get), keys: []string{"name"},
	},
	{
		name: "managed_namespace", upserts: true, made: "=-core", object: &hubv1.ManagedNamespace{},
		create: via(namespaces, hubv1connect.ManagedNamespacesClient.Apply), update: via(namespaces, hubv1connect.ManagedNamespacesClient.Apply), remove: via(namespaces, hubv1connect.ManagedNamespacesClient.Delete),
		get: via(namespaces, hubv1connect.ManagedNamespacesClient.Get), keys: []string{"name"},
	},
	{
		name: "service_context", object: &hubv1.Context{}, formerly: "plural_service_context",
		create: via(contexts, hubv1connect.ContextsClient.Create), update: via(contexts, hubv1connect.ContextsClient.Update), remove: via(contexts, hubv1connect.ContextsClient.Delete),
		get: via(contexts, hubv1connect.ContextsClient.Get), list: via(contexts, hubv1connect.ContextsClient.List), keys: []string{"name"},
		updating: func(r proto.Message) {
			u := r.(*hubv1.UpdateContextRequest)
			u.Global = u.GetContext().GetProject() == ""
		},
	},
	{
		name: "outputs", upserts: true, object: &hubv1.Context{}, plural: "all_outputs",
		create: via(outputs, hubv1connect.OutputsClient.Put), update: via(outputs, hubv1connect.OutputsClient.Put), remove: via(outputs, hubv1connect.OutputsClient.Delete),
		list: via(outputs, hubv1connect.OutputsClient.List), keys: []string{"name"},
		updating: func(r proto.Message) {
			u := r.(*hubv1.PutOutputsRequest)
			u.Global = u.GetOutputs().GetProject() == ""
		},
	},
	{
		name: "agent_upgrade", object: &hubv1.AgentUpgrade{},
		create: via(agents, hubv1connect.AgentsClient.StartUpgrade), update: via(agents, hubv1connect.AgentsClient.StartUpgrade), get: via(agents, hubv1connect.AgentsClient.UpgradeStatus),
		exists: func(o proto.Message) bool { return o.(*hubv1.AgentUpgrade).GetPhase() != "" },
	},
	{
		name: "hub_settings", object: &hubv1.SyncWindowList{},
		create: via(hub, hubv1connect.HubClient.SetSyncWindows), update: via(hub, hubv1connect.HubClient.SetSyncWindows), remove: via(hub, hubv1connect.HubClient.SetSyncWindows),
		get: via(hub, hubv1connect.HubClient.GetSyncWindows),
	},
	{
		name: "user", object: &hubv1.User{}, formerly: "plural_user",
		create: via(users, hubv1connect.UsersClient.Create), remove: via(users, hubv1connect.UsersClient.Delete), list: via(users, hubv1connect.UsersClient.List), keys: []string{"email"},
		exists: func(o proto.Message) bool { return o.(*hubv1.User).GetKind() == "user" },
	},
	{
		name: "admin_grant", object: &hubv1.User{},
		create: via(users, hubv1connect.UsersClient.SetAdmin), remove: via(users, hubv1connect.UsersClient.SetAdmin), list: via(users, hubv1connect.UsersClient.List), keys: []string{"user"}, manager: "admin_managed_by",
		creating: func(r proto.Message) { r.(*hubv1.SetAdminRequest).Admin = true },
		exists:   func(o proto.Message) bool { return o.(*hubv1.User).GetAdmin() },
	},
	{
		name: "group", object: &hubv1.Group{}, formerly: "plural_group",
		create: via(groups, hubv1connect.GroupsClient.Create), remove: via(groups, hubv1connect.GroupsClient.Delete), get: via(groups, hubv1connect.GroupsClient.Get), list: via(groups, hubv1connect.GroupsClient.List), keys: []string{"name"},
	},
	{
		name: "group_member", object: &hubv1.AddMemberRequest{}, formerly: "plural_group_member",
		create: via(groups, hubv1connect.GroupsClient.AddMember), remove: via(groups, hubv1connect.GroupsClient.RemoveMember),
		list: via(groups, hubv1connect.GroupsClient.Get), keys: []string{"group", "user"}, scope: map[string]protoreflect.Name{"group": "name"}, rows: memberOf,
	},
	{
		name: "access_binding", object: &hubv1.CreateBindingRequest{},
		create: via(bindings, hubv1connect.BindingsClient.Create), remove: via(bindings, hubv1connect.BindingsClient.Delete), list: via(bindings, hubv1connect.BindingsClient.List),
		keys:  []string{"subject_kind", "subject", "project", "cluster", "service"},
		scope: map[string]protoreflect.Name{"project": "at.project", "cluster": "at.cluster", "service": "at.service"}, rows: boundTo, change: rebind,
	},
	{
		name: "service_account", object: &hubv1.ServiceAccount{}, formerly: "plural_service_account",
		create: via(accounts, hubv1connect.ServiceAccountsClient.Create), remove: via(accounts, hubv1connect.ServiceAccountsClient.Delete), list: via(accounts, hubv1connect.ServiceAccountsClient.List), keys: []string{"name"},
	},
	{
		name: "federation_trust", object: &hubv1.Trust{},
		create: via(trusts, hubv1connect.FederationClient.Create), remove: via(trusts, hubv1connect.FederationClient.Delete), list: via(trusts, hubv1connect.FederationClient.List), keys: []string{"name"},
	},
	{
		name: "login_provider", object: &hubv1.Provider{}, shows: []string{"callback_url", "logout_url"},
		create: via(providers, hubv1connect.ProvidersClient.Create), update: via(providers, hubv1connect.ProvidersClient.Update), remove: via(providers, hubv1connect.ProvidersClient.Delete),
		list: via(providers, hubv1connect.ProvidersClient.List), keys: []string{"name"},
		updating: func(r proto.Message) {
			u := r.(*hubv1.UpdateProviderRequest)
			u.Provider.Issuer = "" // it cannot change, and is no field that can be set
			u.Set = []string{"title", "client_id", "scopes", "groups_claim", "groups", "email_domains", "allow_unverified", "ca_pem"}
		},
	},
	{
		name: "notification_sink", upserts: true, object: &hubv1.NotificationSink{},
		create: via(sinks, hubv1connect.NotificationSinksClient.Apply), update: via(sinks, hubv1connect.NotificationSinksClient.Apply), remove: via(sinks, hubv1connect.NotificationSinksClient.Delete),
		get: via(sinks, hubv1connect.NotificationSinksClient.Get), list: via(sinks, hubv1connect.NotificationSinksClient.List), keys: []string{"name"}, shows: []string{"host", "signed"},
	},
	{
		name: "notification_router", upserts: true, object: &hubv1.NotificationRouter{},
		create: via(routers, hubv1connect.NotificationRoutersClient.Apply), update: via(routers, hubv1connect.NotificationRoutersClient.Apply), remove: via(routers, hubv1connect.NotificationRoutersClient.Delete),
		get: via(routers, hubv1connect.NotificationRoutersClient.Get), list: via(routers, hubv1connect.NotificationRoutersClient.List), keys: []string{"name"},
	},
}

func projects(c *sdk.Client) hubv1connect.ProjectsClient            { return c.Projects }
func clusters(c *sdk.Client) hubv1connect.ClustersClient            { return c.Clusters }
func repositories(c *sdk.Client) hubv1connect.RepositoriesClient    { return c.Repositories }
func webhooks(c *sdk.Client) hubv1connect.WebhooksClient            { return c.Webhooks }
func services(c *sdk.Client) hubv1connect.ServicesClient            { return c.Services }
func globals(c *sdk.Client) hubv1connect.GlobalServicesClient       { return c.GlobalServices }
func namespaces(c *sdk.Client) hubv1connect.ManagedNamespacesClient { return c.ManagedNamespaces }
func contexts(c *sdk.Client) hubv1connect.ContextsClient            { return c.Contexts }
func outputs(c *sdk.Client) hubv1connect.OutputsClient              { return c.Outputs }
func agents(c *sdk.Client) hubv1connect.AgentsClient                { return c.Agents }
func hub(c *sdk.Client) hubv1connect.HubClient                      { return c.Hub }
func users(c *sdk.Client) hubv1connect.UsersClient                  { return c.Users }
func groups(c *sdk.Client) hubv1connect.GroupsClient                { return c.Groups }
func bindings(c *sdk.Client) hubv1connect.BindingsClient            { return c.Bindings }
func accounts(c *sdk.Client) hubv1connect.ServiceAccountsClient     { return c.ServiceAccounts }
func trusts(c *sdk.Client) hubv1connect.FederationClient            { return c.Federation }
func providers(c *sdk.Client) hubv1connect.ProvidersClient          { return c.Providers }
func sinks(c *sdk.Client) hubv1connect.NotificationSinksClient      { return c.NotificationSinks }
func routers(c *sdk.Client) hubv1connect.NotificationRoutersClient  { return c.NotificationRouters }
func tokens(c *sdk.Client) hubv1connect.TokensClient                { return c.Tokens }
func backends(c *sdk.Client) hubv1connect.BackendsClient            { return c.Backends }
func events(c *sdk.Client) hubv1connect.EventsClient                { return c.Events }
func audit(c *sdk.Client) hubv1connect.AuditClient                  { return c.Audit }

// withLimits makes the limits present: without any set, they are removed.
func withLimits(r proto.Message) {
	if u := r.(*hubv1.UpdateProjectRequest); u.Limits == nil {
		u.Limits = &hubv1.ProjectLimits{}
	}
}

// text is a sentence about the kind.
func (k *kind) text() string {
	described, _ := description.Of(string(k.create.in.ProtoReflect().Descriptor().Name()))
	return described.Text
}

func init() {
	described := description.Described()
	for _, k := range all {
		k.attributes = shape.Of(k.create.in.ProtoReflect().Descriptor(), described)
		shown := shape.Of(k.object.ProtoReflect().Descriptor(), nil)
		for _, n := range k.attributes {
			// What no update can say makes another object.
			if n.VersionOf == "" && !n.WriteOnly && k.change == nil && (k.update == nil || !n.Has(k.update.in.ProtoReflect().Descriptor())) {
				n.Immutable = true
			}
		}
		for _, name := range k.shows {
			n := shape.Find(shown, name)
			n.ReadOnly, n.Computed = true, true
			k.attributes = append(k.attributes, n)
		}
	}
}

// ImportID returns the form of the id that a resource is imported by, for its page.
func ImportID(name string) string {
	for _, k := range all {
		if k.name == name {
			id := strings.ToUpper(strings.Join(k.keys, "/"))
			if id == "" {
				id = k.name
			}
			return id
		}
	}
	return ""
}
