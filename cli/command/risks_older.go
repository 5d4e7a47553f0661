package command

import (
	"cmp"
	"context"
	"fmt"
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

// risksOfOlder computes the list of a hub that has none, of what its API returns: the one
// that it will have once it is upgraded. TestRisksOfAHubWithoutAList holds them equal.
func risksOfOlder(ctx context.Context, client *sdk.Client) (all []risk.Risk, err error) {
	// The first call is for administrators alone: to others the rest would be a part.
	bindings, err := client.Bindings.List(ctx, connect.NewRequest(&hubv1.ListBindingsRequest{}))
	if err != nil {
		return nil, err
	}
	clusters, err := client.AllClusters(ctx, &hubv1.ListClustersRequest{})
	if err != nil {
		return nil, err
	}
	all = risksOfClusters(clusters, bindings.Msg.GetBindings())
	groups, err := client.Groups.List(ctx, connect.NewRequest(&hubv1.ListGroupsRequest{}))
	if err != nil {
		return nil, err
	}
	for _, g := range groups.Msg.GetGroups() {
		if r, is := risk.Group(g.GetName()); is {
			all = append(all, r)
		}
	}
	services, err := risksOfServices(ctx, client)
	all = append(all, services...)
	risk.Sort(all)
	return all, err
}

func risksOfClusters(clusters []*hubv1.Cluster, bindings []*hubv1.Binding) (all []risk.Risk) {
	named := map[string]bool{}
	for _, c := range clusters {
		named[c.GetName()] = true
	}
	for _, c := range clusters {
		if tags := c.GetTags(); len(tags) > 0 {
			var keys []string
			for key := range tags {
				keys = append(keys, key)
			}
			slices.Sort(keys)
			all = append(all, risk.Tags(c.GetName(), tags, keys))
		}
		if r, is := risk.Handle(c.GetName(), c.GetHandle(), named); is {
			all = append(all, r)
		}
		writers := 0
		for _, b := range bindings {
			here := b.GetLevel() == "hub" || b.GetLevel() == "project" && b.GetObject() == c.GetProject() || b.GetLevel() == "cluster" && b.GetObject() == c.GetName()
			if here && b.GetAction() == "write" {
				writers++
			}
		}
		if c.GetHandle() == risk.Management && writers > 0 {
			all = append(all, risk.HubCluster(c.GetName(), c.GetProject(), writers))
		}
	}
	return all
}

// target is a service that a global service made, with a source by URL.
type target struct {
	service *hubv1.Service
	sources []risk.Source
}

// sourcesOf finds what is at risk in the sources of services.
type sourcesOf struct {
	repositories map[string]*hubv1.Repository
	// registered are the URLs of each project, as risk.Plain.
	registered map[[2]string]bool
}

// risksOfServices reads the services page by page, and keeps of them what is at risk.
func risksOfServices(ctx context.Context, client *sdk.Client) (all []risk.Risk, err error) {
	limits := map[string]*hubv1.ProjectLimits{}
	projects, err := client.Projects.List(ctx, connect.NewRequest(&hubv1.ListProjectsRequest{}))
	if err != nil {
		return nil, err
	}
	for _, p := range projects.Msg.GetProjects() {
		limits[p.GetName()] = p.GetLimits()
	}
	repositories, err := client.AllRepositories(ctx, &hubv1.ListRepositoriesRequest{})
	if err != nil {
		return nil, err
	}
	of := sourcesOf{map[string]*hubv1.Repository{}, map[[2]string]bool{}}
	for _, r := range repositories {
		of.repositories[r.GetName()] = r
		of.registered[[2]string{cmp.Or(r.GetProject(), risk.Default), risk.Plain(r.GetUrl())}] = true
	}
	var sources []risk.Source
	targets := map[string][]target{} // by the id of the global service
	_, err = sdk.EachPage("", 0, func(token string, size int32) (*connect.Response[hubv1.ListServicesResponse], error) {
		return client.Services.List(ctx, connect.NewRequest(&hubv1.ListServicesRequest{PageToken: token, PageSize: size}))
	}, func(page *hubv1.ListServicesResponse) (int, error) {
		for _, s := range page.GetServices() {
			ref, hubs := s.GetCluster()+"/"+s.GetName(), s.GetManagedBy().GetTool() == "hub"
			if s.GetParentId() == "hub" && s.GetSpec().GetGit() == nil && s.GetSpec().GetHelm() == nil && len(s.GetSpec().GetSources()) == 0 {
				continue // the hub's own, which has no source
			}
			if s.GetName() == risk.AgentService {
				all = append(all, risk.Service(ref))
			}
			l := limits[s.GetProject()]
			account := risk.AccountOf(s.GetName(), s.GetSpec().GetNamespace(), s.GetSpec().GetServiceAccount(), l.GetServiceAccount())
			if account != "" && s.GetProject() != risk.Default && !risk.Given(account, l.GetNamespaces(), l.GetAccounts()) {
				all = append(all, risk.Account(ref, s.GetProject(), account))
			}
			found := of.find("service "+ref, cmp.Or(s.GetProject(), risk.Default), s.GetSpec(), s.GetSources())
			switch id := s.GetManagedBy().GetId(); {
			case !hubs:
				sources = append(sources, found...)
			case len(byURL(s.GetSpec())) > 0:
				targets[id] = append(targets[id], target{&hubv1.Service{Id: s.GetId(), Project: s.GetProject(), Revision: s.GetRevision(), CreatedAt: s.GetCreatedAt(), Spec: s.GetSpec(), Sources: s.GetSources()}, found})
			}
		}
		return len(page.GetServices()), nil
	})
	if err != nil {
		return nil, err
	}
	globals, err := sdk.AllPages(func(token string, size int32) (*connect.Response[hubv1.ListGlobalServicesResponse], error) {
		return client.GlobalServices.List(ctx, connect.NewRequest(&hubv1.ListGlobalServicesRequest{PageToken: token, PageSize: size}))
	}, (*hubv1.ListGlobalServicesResponse).GetGlobalServices)
	for _, g := range globals {
		sources = append(sources, of.ofGlobal(g, targets[g.GetId()])...)
	}
	slices.SortStableFunc(sources, func(a, b risk.Source) int { return strings.Compare(a.Object, b.Object) })
	return append(all, risk.Sources(sources)...), err
}

// ofGlobal is what is at risk of a global service: its template is bound to what the
// first of its targets with content follows, and others that follow something else, of
// another project than their own, are at risk by themselves.
func (o sourcesOf) ofGlobal(g *hubv1.GlobalService, targets []target) (all []risk.Source) {
	if len(targets) == 0 {
		return nil
	}
	first := slices.MinFunc(targets, func(a, b target) int {
		without := func(t target) int { return cmp.Compare(1, min(t.service.GetRevision(), 1)) }
		return cmp.Or(cmp.Compare(without(a), without(b)), cmp.Compare(a.service.GetCreatedAt(), b.service.GetCreatedAt()), strings.Compare(a.service.GetId(), b.service.GetId()))
	}).service
	bound := map[string]bool{}
	for _, s := range first.GetSources() {
		bound[s.GetRepository()] = true
	}
	all = o.find("global service "+g.GetName(), cmp.Or(g.GetSettings().GetProject(), risk.Default), first.GetSpec(), first.GetSources())
	for _, t := range targets {
		for _, s := range t.sources {
			if s.Follows != "" && !bound[s.Follows] {
				s.Template = g.GetName()
				all = append(all, s)
			}
		}
	}
	return all
}

// find is what is at risk of a spec's sources, as what they follow says.
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
