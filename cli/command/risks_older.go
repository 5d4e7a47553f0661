package command

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/risk"
	"github.com/axle-cd/axle/sdk"
)

// afterUpgrade reports whether the command of a risk needs the new hub: an older one keeps
// no tags of administrators, no accounts of projects and no bindings of templates, and
// moves no clusters.
func afterUpgrade(r risk.Risk) bool {
	return slices.Contains([]string{"tag", "service_account", "hub_cluster"}, r.Kind) || strings.HasPrefix(r.Command, "axle get globalservice ")
}

// unknowable is what the API of an older hub does not show.
const unknowable = "Not in this list, since that hub's API does not show it: the project of the repository of a SOPS backend (sops.project in the file of --config-backends). axle hub at-risk has it after the upgrade."

// older is the list of a hub that has none, computed of what its API returns.
type older struct {
	client *sdk.Client
	all    []risk.Risk
	// lacks has a line for each call that the hub is too old for.
	lacks []string
	// answered is set once the hub answered a call, and err once one failed: no more are
	// made then.
	answered bool
	err      error
}

// ask makes a call. A hub that is older than the call costs the list what lack names.
func ask[T any](o *older, call, lack string, make func() (T, error)) (answer T, ok bool) {
	if o.err != nil {
		return answer, false
	}
	answer, err := make()
	switch {
	case err == nil:
		o.answered = true
	case connect.CodeOf(err) == connect.CodeUnimplemented:
		o.lacks = append(o.lacks, call+": "+lack)
	default:
		o.err = fmt.Errorf("%s: %w", call, err)
	}
	return answer, err == nil
}

// risksOfOlder computes the list of a hub that has none, of what its API returns: the one
// that it will have once it is upgraded. TestRisksOfAHubWithoutAList holds them equal.
func risksOfOlder(ctx context.Context, client *sdk.Client) *older {
	o := &older{client: client}
	// The first call is for administrators alone: to others the rest would be a part.
	bindings, _ := ask(o, "Bindings/List", "who may write the hub's own cluster; and who is no administrator gets a part of the rest", func() (*connect.Response[hubv1.ListBindingsResponse], error) {
		return client.Bindings.List(ctx, connect.NewRequest(&hubv1.ListBindingsRequest{}))
	})
	clusters, _ := ask(o, "Clusters/List", "tags, handles and the hub's own cluster", func() ([]*hubv1.Cluster, error) {
		return client.AllClusters(ctx, &hubv1.ListClustersRequest{})
	})
	if bindings == nil {
		bindings = connect.NewResponse(&hubv1.ListBindingsResponse{})
	}
	o.all = risksOfClusters(clusters, bindings.Msg.GetBindings())
	groups, ok := ask(o, "Groups/List", "names of groups", func() (*connect.Response[hubv1.ListGroupsResponse], error) {
		return client.Groups.List(ctx, connect.NewRequest(&hubv1.ListGroupsRequest{}))
	})
	if ok {
		for _, g := range groups.Msg.GetGroups() {
			if r, is := risk.Group(g.GetName()); is {
				o.all = append(o.all, r)
			}
		}
	}
	o.risksOfServices(ctx)
	risk.Sort(o.all)
	return o
}

func risksOfClusters(clusters []*hubv1.Cluster, bindings []*hubv1.Binding) (all []risk.Risk) {
	writers := map[[2]string]int{} // by level and object
	for _, b := range bindings {
		if at := [2]string{b.GetLevel(), b.GetObject()}; b.GetAction() == "write" {
			if b.GetLevel() == "hub" {
				at[1] = ""
			}
			writers[at]++
		}
	}
	named := map[string]bool{}
	for _, c := range clusters {
		named[c.GetName()] = true
	}
	for _, c := range clusters {
		if tags := c.GetTags(); len(tags) > 0 {
			all = append(all, risk.Tags(c.GetName(), tags, slices.Sorted(maps.Keys(tags))))
		}
		if r, is := risk.Handle(c.GetName(), c.GetHandle(), named); is {
			all = append(all, r)
		}
		here := writers[[2]string{"hub", ""}] + writers[[2]string{"project", c.GetProject()}] + writers[[2]string{"cluster", c.GetName()}]
		if c.GetHandle() == risk.Management && here > 0 {
			all = append(all, risk.HubCluster(c.GetName(), c.GetProject(), here))
		}
	}
	return all
}

// targets are the services that a global service made, with a source by URL: the first
// of them, and what is at risk of each.
type targets struct {
	first *hubv1.Service
	risks []risk.Source
}

// add keeps of a service what its global service's line needs.
func (t *targets) add(s *hubv1.Service, found []risk.Source) {
	if t.first == nil || before(s, t.first) < 0 {
		t.first = &hubv1.Service{Id: s.GetId(), Revision: s.GetRevision(), CreatedAt: s.GetCreatedAt(), Spec: s.GetSpec(), Sources: s.GetSources()}
	}
	for _, r := range found {
		if r.Follows != "" {
			t.risks = append(t.risks, r)
		}
	}
}

// before compares targets: the first one that has content is what a template is bound to.
func before(a, b *hubv1.Service) int {
	without := func(s *hubv1.Service) int { return cmp.Compare(1, min(s.GetRevision(), 1)) }
	return cmp.Or(cmp.Compare(without(a), without(b)), cmp.Compare(a.GetCreatedAt(), b.GetCreatedAt()), strings.Compare(a.GetId(), b.GetId()))
}

// sourcesOf finds what is at risk in the sources of services.
type sourcesOf struct {
	repositories map[string]*hubv1.Repository
	// registered are the URLs of each project, as risk.Plain.
	registered map[[2]string]bool
}

// risksOfServices reads the services page by page, and keeps of them what is at risk.
func (o *older) risksOfServices(ctx context.Context) {
	limits := map[string]*hubv1.ProjectLimits{}
	projects, limited := ask(o, "Projects/List", "the accounts that services act as", func() (*connect.Response[hubv1.ListProjectsResponse], error) {
		return o.client.Projects.List(ctx, connect.NewRequest(&hubv1.ListProjectsRequest{}))
	})
	if limited {
		for _, p := range projects.Msg.GetProjects() {
			limits[p.GetName()] = p.GetLimits()
		}
	}
	repositories, followed := ask(o, "Repositories/List", "sources that services name by URL", func() ([]*hubv1.Repository, error) {
		return o.client.AllRepositories(ctx, &hubv1.ListRepositoriesRequest{})
	})
	of := sourcesOf{map[string]*hubv1.Repository{}, map[[2]string]bool{}}
	for _, one := range repositories {
		of.repositories[one.GetName()] = one
		of.registered[[2]string{cmp.Or(one.GetProject(), risk.Default), risk.Plain(one.GetUrl())}] = true
	}
	r := serviceRisks{older: o, sources: of, limits: limits, limited: limited, followed: followed, made: map[string]*targets{}}
	ask(o, "Services/List", "everything about services", func() (string, error) {
		return sdk.EachPage("", 0, func(token string, size int32) (*connect.Response[hubv1.ListServicesResponse], error) {
			return o.client.Services.List(ctx, connect.NewRequest(&hubv1.ListServicesRequest{PageToken: token, PageSize: size}))
		}, func(page *hubv1.ListServicesResponse) (int, error) {
			for _, s := range page.GetServices() {
				r.service(s)
			}
			return len(page.GetServices()), nil
		})
	})
	globals, _ := ask(o, "GlobalServices/List", "sources that global services name by URL", func() ([]*hubv1.GlobalService, error) {
		return sdk.AllPages(func(token string, size int32) (*connect.Response[hubv1.ListGlobalServicesResponse], error) {
			return o.client.GlobalServices.List(ctx, connect.NewRequest(&hubv1.ListGlobalServicesRequest{PageToken: token, PageSize: size}))
		}, (*hubv1.ListGlobalServicesResponse).GetGlobalServices)
	})
	for _, g := range globals {
		if t := r.made[g.GetId()]; t != nil {
			r.found = append(r.found, of.ofGlobal(g, t)...)
		}
	}
	slices.SortStableFunc(r.found, func(a, b risk.Source) int { return strings.Compare(a.Object, b.Object) })
	o.all = append(o.all, risk.Sources(r.found)...)
}

// serviceRisks takes services one by one, and keeps what is at risk. limited is set when
// the limits of projects are known, and followed when the repositories are.
type serviceRisks struct {
	*older
	sources           sourcesOf
	limits            map[string]*hubv1.ProjectLimits
	limited, followed bool
	found             []risk.Source
	made              map[string]*targets // by the id of the global service
}

func (r *serviceRisks) service(s *hubv1.Service) {
	ref := s.GetCluster() + "/" + s.GetName()
	if s.GetParentId() == "hub" && s.GetSpec().GetGit() == nil && s.GetSpec().GetHelm() == nil && len(s.GetSpec().GetSources()) == 0 {
		return // the hub's own, which has no source
	}
	if s.GetName() == risk.AgentService {
		r.all = append(r.all, risk.Service(ref))
	}
	l := r.limits[s.GetProject()]
	account := risk.AccountOf(s.GetName(), s.GetSpec().GetNamespace(), s.GetSpec().GetServiceAccount(), l.GetServiceAccount())
	if r.limited && account != "" && s.GetProject() != risk.Default && !risk.Given(account, l.GetNamespaces(), l.GetAccounts()) {
		r.all = append(r.all, risk.Account(ref, s.GetProject(), account))
	}
	if !r.followed {
		return
	}
	found := r.sources.find("service "+ref, cmp.Or(s.GetProject(), risk.Default), s.GetSpec(), s.GetSources())
	switch id := s.GetManagedBy().GetId(); {
	case s.GetManagedBy().GetTool() != "hub":
		r.found = append(r.found, found...)
	case len(byURL(s.GetSpec())) > 0:
		if r.made[id] == nil {
			r.made[id] = &targets{}
		}
		r.made[id].add(s, found)
	}
}

// ofGlobal is what is at risk of a global service: its template is bound to what the
// first of its targets with content follows, and others that follow something else, of
// another project than their own, are at risk by themselves.
func (o sourcesOf) ofGlobal(g *hubv1.GlobalService, t *targets) (all []risk.Source) {
	bound := map[string]bool{}
	for _, s := range t.first.GetSources() {
		bound[s.GetRepository()] = true
	}
	all = o.find("global service "+g.GetName(), cmp.Or(g.GetSettings().GetProject(), risk.Default), t.first.GetSpec(), t.first.GetSources())
	for _, s := range t.risks {
		if !bound[s.Follows] {
			s.Template = g.GetName()
			all = append(all, s)
		}
	}
	return all
}

// find is what is at risk of a spec's sources; follows is what the hub reports of each.
func (o sourcesOf) find(object, project string, spec *hubv1.ServiceSpec, follows []*hubv1.ServiceSource) (all []risk.Source) {
	at := map[string]string{}
	for _, f := range follows {
		at[f.GetField()] = f.GetRepository()
	}
	for _, s := range byURL(spec) {
		name := at[s.Template]
		r, registered := o.repositories[name]
		others := registered && cmp.Or(r.GetProject(), risk.Default) != project
		moved := !registered && strings.Contains(name, "://") && risk.Plain(name) != risk.Plain(s.URL)
		if s.Template = ""; !others && !moved {
			continue
		}
		s.Object, s.Project, s.Now = object, project, name
		if s.Registered = o.registered[[2]string{project, risk.Plain(s.URL)}]; others {
			s.Follows, s.Now = name, r.GetUrl()
		}
		all = append(all, s)
	}
	return all
}

// byURL are the sources of a spec that name a repository by URL; Template is the field by
// which a service lists what it follows.
func byURL(spec *hubv1.ServiceSpec) (all []risk.Source) {
	add := func(of, field, repository, url string, chart bool) {
		if repository == "" && url != "" {
			all = append(all, risk.Source{Template: of, Field: field + ".url", URL: url, Chart: chart})
		}
	}
	add("git", "git", spec.GetRepository(), spec.GetGit().GetUrl(), false)
	for i, s := range spec.GetSources() {
		at := fmt.Sprintf("sources[%d]", i)
		if s.GetChart() == "" && s.GetGit() != nil {
			add(at, at+".git", s.GetRepository(), s.GetGit().GetUrl(), false)
			continue
		}
		add(at, at, s.GetRepository(), s.GetUrl(), s.GetChart() != "")
	}
	if h := spec.GetHelm(); h.GetChart() != "" && h.GetUrl() != "" {
		add("helm", "helm", h.GetRepository(), h.GetUrl(), true)
	} else {
		add("helm", "helm.git", h.GetRepository(), h.GetGit().GetUrl(), false)
	}
	return all
}
