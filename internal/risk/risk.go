// Package risk has the rules and the words of what goes on only because it is older than
// a rule that refuses it today. The hub lists such things of its own data (axle hub
// at-risk); the axle command lists them of a hub that is too old to have the list, from
// what its API returns (axle upgrade --check). Both ask here, so that a line reads the
// same before an upgrade and after it.
//
// It reads nothing and decides about plain values alone. A new rule of this kind adds a
// function here, and its question to both.
package risk

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/axle-cd/axle/internal/rule"
)

// The names that rules are about.
const (
	// Management is the name and the handle of the hub's own cluster.
	Management = "mgmt"
	// HubProject is the name that the project of the hub's own cluster gets.
	HubProject = "axle-system"
	// AgentService is the service that the hub makes in every cluster.
	AgentService = "axle-agent"
	// Default is the project of what names none.
	Default = "default"
)

// Risk is one thing that a person has to decide about.
type Risk struct {
	// Kind is tag, handle, group, service, source, backend, service_account or hub_cluster.
	Kind, Object string
	Why          string
	// Command settles it, in a shell.
	Command string
}

// Sort puts risks in order of kind and object.
func Sort(risks []Risk) {
	slices.SortFunc(risks, func(a, b Risk) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Object, b.Object))
	})
}

// Tags is the risk of a cluster with tags, of which nobody is known to stand by some.
func Tags(cluster string, tags map[string]string, unknown []string) Risk {
	command := "axle clusters update " + Quote(cluster)
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		tag := key + "=" + tags[key]
		if strings.Count(tag, "=") > 1 || strings.ContainsAny(tag, `",`) { // the flag takes a line of CSV
			tag = `"` + strings.ReplaceAll(tag, `"`, `""`) + `"`
		}
		command += " --tag " + Quote(tag)
	}
	return Risk{"tag", "cluster " + cluster,
		"no administrator is known to have set " + strings.Join(unknown, ", ") + "; global services of all projects go by it until somebody changes it. Set the tags as they are to stand by them", command}
}

// Handle is the risk of a cluster whose handle is another one's; named are the names of
// all clusters.
func Handle(name, handle string, named map[string]bool) (Risk, bool) {
	why := ""
	switch {
	case handle == name:
	case named[handle]:
		why = "its handle " + handle + " is the name of another cluster"
	case handle == Management:
		why = "its handle is that of the hub's own cluster, which global services with mgmt=false leave out"
	}
	return Risk{"handle", "cluster " + name, why, "axle clusters update " + Quote(name) + " --handle " + Quote(name)}, why != ""
}

// Group is the risk of a group whose name a new one may not have.
func Group(name string) (Risk, bool) {
	return Risk{"group", "group " + name,
		"a name with a colon may mean something to Kubernetes or to a cluster's own login, and the hub impersonates groups by their names; move its members and bindings to a group with another name",
		"axle groups delete " + Quote(name)}, !rule.Group.Valid(name)
}

// Service is the risk of a service of people, CLUSTER/NAME, with the name of the hub's own.
func Service(ref string) Risk {
	return Risk{"service", "service " + ref,
		"it has the name of the hub's own service, so the hub does not upgrade the agent there; declare it under another name",
		"axle services delete " + Quote(ref) + " --detach"}
}

// AccountOf is the account that a service acts as, NAMESPACE/NAME; empty is none. It is
// the service's own, otherwise its project's.
func AccountOf(service, namespace, own, ofProject string) string {
	account := cmp.Or(own, ofProject)
	if account == "" || strings.Contains(account, "/") {
		return account
	}
	return cmp.Or(namespace, service) + "/" + account
}

// Given reports whether the limits of a project name an account or its namespace.
func Given(account string, namespaces, accounts []string) bool {
	matches := func(patterns []string, name string) bool {
		return slices.ContainsFunc(patterns, func(pattern string) bool {
			ok, err := path.Match(pattern, name)
			return ok && err == nil
		})
	}
	namespace, _, _ := strings.Cut(account, "/")
	return matches(namespaces, namespace) || matches(accounts, account)
}

// Account is the risk of a service that acts as an account which nobody gave its project.
func Account(ref, project, account string) Risk {
	return Risk{"service_account", "service " + ref,
		fmt.Sprintf("acts as the account %s, which was not given to project %s; it goes on, but no other service of the project may begin to", account, project),
		fmt.Sprintf("axle projects update %s --allow-account %s", Quote(project), Quote(account))}
}

// HubCluster is the risk of the cluster that the hub runs in, which role bindings let
// people write: its Secrets hold the hub's key.
func HubCluster(name, project string, bindings int) Risk {
	return Risk{"hub_cluster", "cluster " + name,
		fmt.Sprintf("the hub runs in it, and %d role binding(s) let people write it, and so read the hub's key: it lies in project %s", bindings, project),
		fmt.Sprintf("axle projects create %[1]s --administrators-only && axle clusters move %[2]s --project %[1]s --plan", HubProject, Quote(name))}
}

// Source is a source that names a repository by URL and follows one that others may
// change: it was found before a URL found only what the own project registered.
type Source struct {
	// Object is "service CLUSTER/NAME" or "global service NAME", and Project its project.
	Object, Project string
	// Field is the field of the spec, and URL what it says; Chart is set for a chart's.
	Field, URL string
	Chart      bool
	// Template is the global service that a service is a target of, and that follows
	// another repository.
	Template string
	// Registered is set when the project has registered the URL, so that the source
	// follows that once it is declared again.
	Registered bool
	// Follows is the repository that it follows, and Now that one's URL; Follows is empty
	// for one that the hub follows by itself.
	Follows, Now string
}

// Sources are the risks of sources, in their order: of those of one project with one URL,
// the first registers it.
func Sources(found []Source) (all []Risk) {
	listed := map[[2]string]bool{}
	for _, r := range found {
		settles := "once its project has registered the URL, it follows that registration, whose content must be the same"
		if at := [2]string{r.Project, r.URL}; r.Template == "" {
			r.Registered = r.Registered || listed[at]
			listed[at] = true
		} else {
			settles = "its global service follows another one, and so does it once that is applied again"
		}
		follows := "one that the hub follows by itself, which somebody changed"
		if r.Follows != "" {
			follows = "repository " + r.Follows + ", which others may change"
		}
		all = append(all, Risk{"source", r.Object,
			fmt.Sprintf("its field %s names the URL %s and follows %s (now %s); %s", r.Field, r.URL, follows, r.Now, settles), r.settled()})
	}
	return all
}

// settled is the command after which a source follows what its own project registered.
func (r Source) settled() string {
	kind, name, _ := strings.Cut(r.Object, " ")
	apply := "axle get servicedeployment " + Quote(name) + " -o yaml | axle apply -f -"
	if kind == "global" || r.Template != "" {
		_, of, _ := strings.Cut(name, " ")
		name = cmp.Or(r.Template, of)
		apply = "axle get globalservice " + Quote(name) + " -o yaml | axle apply -f -"
	}
	if r.Registered || r.Template != "" {
		return apply
	}
	project, of := cmp.Or(r.Project, Default), cmp.Or(r.Follows, path.Base(name))
	upstream, at := "git", strings.TrimSpace(r.URL)
	switch {
	case r.Chart && strings.HasPrefix(strings.ToLower(at), "oci://"):
		upstream = "oci"
	case r.Chart:
		upstream = "helm"
	}
	return fmt.Sprintf("axle repos add %s %s --type %s --project %s && %s", Quote(of+"-of-"+project), Quote(r.URL), upstream, Quote(project), apply)
}

// Plain is a URL without what does not name another repository.
func Plain(url string) string {
	return strings.TrimSuffix(strings.ToLower(strings.TrimRight(strings.TrimSpace(url), "/")), ".git")
}

var plain = regexp.MustCompile(`^[A-Za-z0-9._:/@=+,-]+$`)

// Quote makes a word that a shell takes as it is: tags and groups are not named by who
// copies the command.
func Quote(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
