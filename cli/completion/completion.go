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
	"slices"
	"strings"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/object"
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

// flags are the flags that name objects in every command that has them, beside those of
// the descriptions.
var flags = map[string]Words{
	"service": services, "user": users, "actor": users, "as": users, "account": accounts, "depends-on": siblings,
	"event": names("NotificationRouters/ListEvents", "name"), "from": names("Backends/List", "name"), "to": names("Backends/List", "name"), "explain": keys,
}

// special are flags whose meaning depends on the command. No words means that
// the flag does not name an object of the hub there.
var special = map[string]Words{
	"auth bind --group": objects("Group"), "auth unbind --group": objects("Group"), "auth bind --service-account": accounts, "auth unbind --service-account": accounts,
	"notifications sinks create --group": objects("Group"), "notifications sinks update --group": objects("Group"),
	"clusters create --on": objects("Cluster"), "clusters api install --on": objects("Cluster"), "clusters api list --on": objects("Cluster"), "clusters create --template": objects("ClusterTemplate"), "clusters templates apply --management-clusters": objects("Cluster"), "clusters templates apply --projects": objects("Project"),
	"metrics query --source": stores("prometheus"), "metrics dashboards --source": stores("prometheus"), "logs --store": stores("victorialogs", "loki"),
	"providers create --group": nil, "providers try --group": nil, "providers update --group": nil,
}

// arguments are the commands whose first argument names an object, or all of them if the
// command takes several, beside those that Argument knows by the noun.
var arguments = map[string]Words{
	"services get": services, "services update": services, "services sync": services, "services pause": services, "services resume": services,
	"services approve-prune": services, "services config": services, "services config set": services, "services config unset": services, "services diff": services,
	"services rollback": services, "services revisions": services, "services tests": services, "services tree": services, "services wait": services,
	"services delete": services, "logs": services, "operations get": names("Operations/List", "id"), "operations cancel": names("Operations/List", "id"), "operations retry": names("Operations/List", "id"),
	"rollouts get": objects("GlobalService"), "rollouts pause": objects("GlobalService"), "rollouts resume": objects("GlobalService"), "rollouts abort": objects("GlobalService"),
	"users delete": users, "users admin": users, "providers unlink": users, "serviceaccounts delete": accounts, "serviceaccounts token": accounts,
	"metrics query": objects("Cluster"), "metrics sources": objects("Cluster"), "metrics dashboards": objects("Cluster"),
	"clusters pools list": objects("Cluster"), "clusters pools scale": objects("Cluster"), "clusters machines list": objects("Cluster"), "clusters machines replace": objects("Cluster"),
	"clusters orphans list": objects("Cluster"), "clusters orphans keep": objects("Cluster"), "clusters orphans remove": objects("Cluster"),
	"tokens revoke": tokens, "sessions end": sessions, "hub drain": names("Hub/Status", "name"),
}

// verbs are those whose first argument is a new name, or no name of an object.
var verbs = []string{"create", "add", "list", "connect", "pending", "try"}

// Flag returns the words for a flag of a command, nil if it names no object.
// The command is given without "axle": "services list".
func Flag(command, flag string) Words {
	if words, ok := special[command+" --"+flag]; ok {
		return words
	}
	if (flag == "from" || flag == "to") && command != "backends migrate" {
		return nil
	}
	if words, ok := flags[flag]; ok {
		return words
	}
	for _, k := range object.All {
		if slices.Contains(k.Flags, flag) {
			return objects(k.Name)
		}
	}
	return nil
}

// Argument returns the words for the arguments of a command, nil if they name
// no object.
func Argument(command string) Words {
	if words, ok := arguments[command]; ok {
		return words
	}
	for _, k := range object.All {
		verb, ok := strings.CutPrefix(command, k.Noun+" ")
		if ok && k.Noun != "" && !strings.Contains(verb, " ") && !slices.Contains(verbs, verb) {
			return objects(k.Name)
		}
	}
	return nil
}

// objects offers the names of the objects of a kind.
func objects(kind string) Words {
	k, _ := object.Named(kind)
	return names(k.Calls.Path(k.Calls.List), k.Calls.Names())
}

// names offers a field of the rows of one page of a list.
func names(method, field string) Words {
	return func(ctx context.Context, r Request) (words []string, _ error) {
		rows, _, err := r.Client.Page(ctx, method, nil)
		for _, row := range rows {
			words = append(words, sdk.Text(row, field))
		}
		return words, err
	}
}

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

// stores offers those of some types that the cluster of the first argument has.
func stores(types ...string) Words {
	return func(ctx context.Context, r Request) ([]string, error) {
		if len(r.Args) == 0 {
			return nil, nil
		}
		cluster, _, _ := strings.Cut(r.Args[0], "/")
		return list(ctx, r.Client.Observability.Sources, &hubv1.ObservabilitySourcesRequest{Cluster: cluster}, func(m *hubv1.ObservabilitySourcesResponse) []*hubv1.ObservabilitySource {
			return slices.DeleteFunc(m.GetSources(), func(s *hubv1.ObservabilitySource) bool { return !slices.Contains(types, s.GetType()) })
		}, (*hubv1.ObservabilitySource).GetName)
	}
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

// tokens offers IDs, with the name behind a tab, as shells show it.
func tokens(ctx context.Context, r Request) ([]string, error) {
	return list(ctx, r.Client.Tokens.List, &hubv1.ListTokensRequest{}, (*hubv1.ListTokensResponse).GetTokens, func(t *hubv1.Token) string { return t.GetId() + "\t" + t.GetName() })
}

func sessions(ctx context.Context, r Request) ([]string, error) {
	return list(ctx, r.Client.Logins.ListSessions, &hubv1.ListSessionsRequest{User: r.Flag("user")}, (*hubv1.ListSessionsResponse).GetSessions, func(s *hubv1.Session) string { return s.GetId() + "\t" + s.GetName() })
}
