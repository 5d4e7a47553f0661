// Package completion says what the shell offers for an argument or a flag that
// names an object, and reads those names from the hub.
//
// It registers nothing: cli walks its commands, asks Flag and Argument by the
// name of the command, and registers what they return. A fixed list of words,
// such as the values of --type, belongs to its command and not here.
//
// Each completion is one call, and reads one page: a key that is pressed at a
// prompt must not read a fleet.
package completion

import (
	"context"
	"strings"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/sdk"
)

// Request is the command line so far.
type Request struct {
	Client *sdk.Client
	// Args are the arguments before the one to complete.
	Args []string
	// Word is what is typed of the word to complete.
	Word string
	// Flag returns the value of a flag, empty if there is none.
	Flag func(name string) string
}

// Words returns the words that fit.
type Words func(ctx context.Context, r Request) ([]string, error)

// flags are the flags that name objects in every command that has them.
var flags = map[string]Words{
	"cluster": clusters, "clusters": clusters, "ignore-cluster": clusters, "project": projects, "repo": repositories, "repository": repositories, "chart-repo": repositories,
	"service": services, "user": users, "actor": users, "as": users, "account": accounts, "bind": contexts, "import": outputs, "depends-on": siblings,
	"trust": trusts, "sink": sinks, "event": notificationEvents, "from": backends, "to": backends, "explain": keys,
}

// special are flags whose meaning depends on the command. No words means that
// the flag does not name an object of the hub there.
var special = map[string]Words{
	"auth bind --group": groups, "auth unbind --group": groups, "auth bind --service-account": accounts, "auth unbind --service-account": accounts,
	"notifications sinks create --group": groups, "notifications sinks update --group": groups,
	"providers create --group": nil, "providers try --group": nil, "providers update --group": nil,
}

// arguments are the commands whose first argument names an object, or all of
// them if the command takes several.
var arguments = map[string]Words{
	"clusters get": clusters, "clusters update": clusters, "clusters approve": clusters, "clusters enrollment": clusters, "clusters delete": clusters, "clusters kubeconfig": clusters, "clusters credential": clusters,
	"repos get": repositories, "repos update": repositories, "repos refresh": repositories, "repos delete": repositories,
	"projects get": projects, "projects update": projects, "projects delete": projects,
	"services get": services, "services update": services, "services sync": services, "services pause": services, "services resume": services,
	"services approve-prune": services, "services config": services, "services config set": services, "services config unset": services, "services diff": services,
	"services rollback": services, "services revisions": services, "services tests": services, "services tree": services, "services wait": services,
	"services delete": services, "logs": services,
	"globalservices get": globalServices, "globalservices apply": globalServices, "globalservices delete": globalServices,
	"operations get": operations, "operations cancel": operations, "operations retry": operations,
	"rollouts get": globalServices, "rollouts pause": globalServices, "rollouts resume": globalServices, "rollouts abort": globalServices,
	"namespaces get": namespaces, "namespaces update": namespaces, "namespaces delete": namespaces,
	"notifications sinks get": sinks, "notifications sinks update": sinks, "notifications sinks test": sinks, "notifications sinks delete": sinks,
	"notifications routers get": routers, "notifications routers update": routers, "notifications routers delete": routers,
	"servicecontexts get": contexts, "servicecontexts set": contexts, "servicecontexts delete": contexts, "outputs put": outputs, "outputs delete": outputs,
	"groups get": groups, "groups delete": groups, "groups add-member": groups, "groups remove-member": groups,
	"users delete": users, "users admin": users, "providers unlink": users, "providers update": providers, "providers delete": providers,
	"serviceaccounts delete": accounts, "serviceaccounts token": accounts, "federation delete": trusts, "webhooks delete": webhooks,
	"tokens revoke": tokens, "sessions end": sessions, "hub drain": replicas,
}

// Flag returns the words for a flag of a command, nil if it names no object.
// The command is given without "axle": "services list".
func Flag(command, flag string) Words {
	if words, ok := special[command+" --"+flag]; ok {
		return words
	}
	if (flag == "from" || flag == "to") && command != "backends migrate" {
		return nil
	}
	return flags[flag]
}

// Argument returns the words for the arguments of a command, nil if they name
// no object.
func Argument(command string) Words { return arguments[command] }

// list reads one page and returns the names in it.
func list[Q, A, T any](ctx context.Context, call func(context.Context, *connect.Request[Q]) (*connect.Response[A], error), request *Q, items func(*A) []T, name func(T) string) ([]string, error) {
	page, err := call(ctx, connect.NewRequest(request))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, item := range items(page.Msg) {
		names = append(names, name(item))
	}
	return names, nil
}

func clusters(ctx context.Context, r Request) ([]string, error) {
	return list(ctx, r.Client.Clusters.List, &hubv1.ListClustersRequest{PageSize: sdk.PageSize}, (*hubv1.ListClustersResponse).GetClusters, (*hubv1.Cluster).GetName)
}

func projects(ctx context.Context, r Request) ([]string, error) {
	return list(ctx, r.Client.Projects.List, &hubv1.ListProjectsRequest{}, (*hubv1.ListProjectsResponse).GetProjects, (*hubv1.Project).GetName)
}

func repositories(ctx context.Context, r Request) ([]string, error) {
	return list(ctx, r.Client.Repositories.List, &hubv1.ListRepositoriesRequest{PageSize: sdk.PageSize}, (*hubv1.ListRepositoriesResponse).GetRepositories, (*hubv1.Repository).GetName)
}

func globalServices(ctx context.Context, r Request) ([]string, error) {
	return list(ctx, r.Client.GlobalServices.List, &hubv1.ListGlobalServicesRequest{PageSize: sdk.PageSize}, (*hubv1.ListGlobalServicesResponse).GetGlobalServices, (*hubv1.GlobalService).GetName)
}

func operations(ctx context.Context, r Request) ([]string, error) {
	return list(ctx, r.Client.Operations.List, &hubv1.ListOperationsRequest{}, (*hubv1.ListOperationsResponse).GetOperations, (*hubv1.Operation).GetId)
}

func sinks(ctx context.Context, r Request) ([]string, error) {
	return list(ctx, r.Client.NotificationSinks.List, &hubv1.ListNotificationSinksRequest{}, (*hubv1.ListNotificationSinksResponse).GetSinks, (*hubv1.NotificationSink).GetName)
}

func routers(ctx context.Context, r Request) ([]string, error) {
	return list(ctx, r.Client.NotificationRouters.List, &hubv1.ListNotificationRoutersRequest{}, (*hubv1.ListNotificationRoutersResponse).GetRouters, (*hubv1.NotificationRouter).GetName)
}

func notificationEvents(ctx context.Context, r Request) ([]string, error) {
	return list(ctx, r.Client.NotificationRouters.ListEvents, &hubv1.ListNotificationEventsRequest{}, (*hubv1.ListNotificationEventsResponse).GetEvents, (*hubv1.NotificationEvent).GetName)
}

func namespaces(ctx context.Context, r Request) ([]string, error) {
	return list(ctx, r.Client.ManagedNamespaces.List, &hubv1.ListManagedNamespacesRequest{PageSize: sdk.PageSize}, (*hubv1.ListManagedNamespacesResponse).GetNamespaces, (*hubv1.ManagedNamespace).GetName)
}

// services offers CLUSTER/NAME, or NAME with --cluster.
func services(ctx context.Context, r Request) ([]string, error) {
	cluster, name := r.Flag("cluster"), (*hubv1.Service).GetName
	request := &hubv1.ListServicesRequest{Cluster: cluster, PageSize: sdk.PageSize, Brief: true}
	if cluster == "" {
		name = func(s *hubv1.Service) string { return s.GetCluster() + "/" + s.GetName() }
		if before, _, ok := strings.Cut(r.Word, "/"); ok {
			request.Cluster = before
		}
	}
	return list(ctx, r.Client.Services.List, request, (*hubv1.ListServicesResponse).GetServices, name)
}

// siblings offers the services of the cluster in the first argument.
func siblings(ctx context.Context, r Request) ([]string, error) {
	cluster := r.Flag("cluster")
	if len(r.Args) > 0 && strings.Contains(r.Args[0], "/") {
		cluster, _, _ = strings.Cut(r.Args[0], "/")
	}
	if cluster == "" {
		return nil, nil
	}
	return list(ctx, r.Client.Services.List, &hubv1.ListServicesRequest{Cluster: cluster, PageSize: sdk.PageSize, Brief: true}, (*hubv1.ListServicesResponse).GetServices, (*hubv1.Service).GetName)
}

// keys offers the keys of the configuration of the service in the first
// argument.
func keys(ctx context.Context, r Request) ([]string, error) {
	if len(r.Args) == 0 {
		return nil, nil
	}
	ref := &hubv1.ServiceRef{Cluster: r.Flag("cluster"), Name: r.Args[0]}
	if cluster, name, ok := strings.Cut(r.Args[0], "/"); ok {
		ref.Cluster, ref.Name = cluster, name
	}
	return list(ctx, r.Client.Services.Config, &hubv1.GetServiceConfigRequest{Ref: ref}, (*hubv1.ServiceConfig).GetValues, (*hubv1.ConfigValue).GetKey)
}

func contexts(ctx context.Context, r Request) ([]string, error) {
	return list(ctx, r.Client.Contexts.List, &hubv1.ListContextsRequest{}, (*hubv1.ListContextsResponse).GetContexts, (*hubv1.Context).GetName)
}

func outputs(ctx context.Context, r Request) ([]string, error) {
	return list(ctx, r.Client.Outputs.List, &hubv1.ListOutputsRequest{}, (*hubv1.ListOutputsResponse).GetOutputs, (*hubv1.Context).GetName)
}

func backends(ctx context.Context, r Request) ([]string, error) {
	return list(ctx, r.Client.Backends.List, &hubv1.ListBackendsRequest{}, (*hubv1.ListBackendsResponse).GetBackends, (*hubv1.Backend).GetName)
}

func groups(ctx context.Context, r Request) ([]string, error) {
	return list(ctx, r.Client.Groups.List, &hubv1.ListGroupsRequest{}, (*hubv1.ListGroupsResponse).GetGroups, (*hubv1.Group).GetName)
}

func users(ctx context.Context, r Request) ([]string, error) { return people(ctx, r, true) }

func accounts(ctx context.Context, r Request) ([]string, error) { return people(ctx, r, false) }

// people offers the names of users, or those of service accounts.
func people(ctx context.Context, r Request, persons bool) ([]string, error) {
	return list(ctx, r.Client.Users.List, &hubv1.ListUsersRequest{}, func(all *hubv1.ListUsersResponse) []*hubv1.User {
		var some []*hubv1.User
		for _, u := range all.GetUsers() {
			if (u.GetKind() == "user") == persons {
				some = append(some, u)
			}
		}
		return some
	}, (*hubv1.User).GetName)
}

func trusts(ctx context.Context, r Request) ([]string, error) {
	return list(ctx, r.Client.Federation.List, &hubv1.ListTrustsRequest{}, (*hubv1.ListTrustsResponse).GetTrusts, (*hubv1.Trust).GetName)
}

func webhooks(ctx context.Context, r Request) ([]string, error) {
	return list(ctx, r.Client.Webhooks.List, &hubv1.ListWebhooksRequest{}, (*hubv1.ListWebhooksResponse).GetWebhooks, (*hubv1.Webhook).GetName)
}

func providers(ctx context.Context, r Request) ([]string, error) {
	return list(ctx, r.Client.Providers.List, &hubv1.ListProvidersRequest{}, (*hubv1.ListProvidersResponse).GetProviders, (*hubv1.Provider).GetName)
}

// tokens offers IDs, with the name behind a tab, as shells show it.
func tokens(ctx context.Context, r Request) ([]string, error) {
	return list(ctx, r.Client.Tokens.List, &hubv1.ListTokensRequest{}, (*hubv1.ListTokensResponse).GetTokens, func(t *hubv1.Token) string { return t.GetId() + "\t" + t.GetName() })
}

func sessions(ctx context.Context, r Request) ([]string, error) {
	return list(ctx, r.Client.Logins.ListSessions, &hubv1.ListSessionsRequest{User: r.Flag("user")}, (*hubv1.ListSessionsResponse).GetSessions, func(s *hubv1.Session) string { return s.GetId() + "\t" + s.GetName() })
}

func replicas(ctx context.Context, r Request) ([]string, error) {
	return list(ctx, r.Client.Hub.Status, &hubv1.HubStatusRequest{}, (*hubv1.HubStatus).GetReplicas, (*hubv1.Replica).GetName)
}
