package fleet

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet/specrules"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/rule"
)

// Limits are what the services of a project may touch, and when. The hub
// enforces what it can check itself, such as the namespace of a service; agents
// check what was rendered. The zero value limits nothing.
type Limits struct {
	// Namespaces are the namespaces where services may be and write, with * and
	// ?; empty allows all.
	Namespaces []string `json:"namespaces,omitempty"`
	// Kinds are Kind or Kind.group, with * and ?; empty allows all.
	Kinds []string `json:"kinds,omitempty"`
	// ClusterScoped allows cluster-scoped objects, outside of the default project.
	ClusterScoped bool `json:"clusterScoped,omitempty"`
	// ServiceAccount is used for services that name none: NAME in the service's
	// namespace, or NAMESPACE/NAME.
	ServiceAccount string `json:"serviceAccount,omitempty"`
	// Accounts are the accounts that services may act as beside those in Namespaces, as
	// NAMESPACE/NAME with * and ?.
	Accounts []string `json:"accounts,omitempty"`
	// SyncWindows are the project's own.
	SyncWindows []SyncWindow `json:"syncWindows,omitempty"`
	// Clusters, Machines of clusters from templates, Services and Previews (that are open at
	// once) are how many of them the project may have; 0 is no limit. What exists already stays.
	Clusters int `json:"clusters,omitempty"`
	Machines int `json:"machines,omitempty"`
	Services int `json:"services,omitempty"`
	Previews int `json:"previews,omitempty"`
	// Domains are those that the project owns: URIs of its applications lie below them. Empty
	// is none. Applications is how many of them it may have; 0 is no limit.
	Domains      []string `json:"domains,omitempty"`
	Applications int      `json:"applications,omitempty"`
	// HubWindows are those of the hub as a whole; they cannot be declared here.
	HubWindows []SyncWindow `json:"hubWindows,omitempty"`
}

// Zero reports whether nothing is limited.
func (l Limits) Zero() bool {
	return len(l.Namespaces)+len(l.Kinds)+len(l.Accounts)+len(l.Domains)+len(l.SyncWindows)+len(l.HubWindows)+l.Clusters+l.Machines+l.Services+l.Previews+l.Applications == 0 && !l.ClusterScoped && l.ServiceAccount == ""
}

func (l Limits) allowsNamespace(namespace string) bool {
	return len(l.Namespaces) == 0 || matches(l.Namespaces, namespace)
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	})
}

// check returns an Invalid error for limits that cannot work.
func (l Limits) check() error {
	for at, patterns := range map[string][]string{"limits.namespaces": l.Namespaces, "limits.kinds": l.Kinds} {
		if err := specrules.CheckPatterns(at, patterns); err != nil {
			return err
		}
	}
	if err := cmp.Or(l.checkNumbers(), l.checkAccount(), l.checkDomains()); err != nil {
		return err
	}
	for _, account := range l.Accounts {
		namespace, name, found := strings.Cut(account, "/")
		if !found || specrules.CheckPatterns("", []string{namespace, name}) != nil {
			return specrules.Field("limits.accounts", "%.80q is not a service account; write NAMESPACE/NAME, with * and ? for more of them", account)
		}
	}
	return specrules.CheckWindows("limits.syncWindows", l.SyncWindows)
}

// maxDomains is how many domains a project may own.
const maxDomains = 100

// checkDomains refuses what is no domain that a browser shows as it is written here.
func (l Limits) checkDomains() error {
	if len(l.Domains) > maxDomains {
		return specrules.Field("limits.domains", "has %d entries; at most %d are allowed", len(l.Domains), maxDomains)
	}
	for _, domain := range l.Domains {
		if !rule.Domain.Valid(domain) || len(domain) > 253 {
			return specrules.Field("limits.domains", "%.80q is not a domain; use %s", domain, rule.Domain.Words)
		}
	}
	return nil
}

// checkAccount refuses an account that agents would refuse to impersonate: a
// service that may be in any namespace would borrow the rights of another one.
func (l Limits) checkAccount() error {
	namespace, name, elsewhere := strings.Cut(l.ServiceAccount, "/")
	switch {
	case l.ServiceAccount == "":
		return nil
	case !elsewhere:
		return specrules.CheckName("limits.serviceAccount", l.ServiceAccount)
	case specrules.CheckName("", namespace) != nil || specrules.CheckName("", name) != nil:
		return specrules.Field("limits.serviceAccount", "%.80q is not a service account; write NAME for an account in each service's namespace, or NAMESPACE/NAME", l.ServiceAccount)
	case len(l.Namespaces) == 0 || !l.allowsNamespace(namespace):
		return specrules.Field("limits.serviceAccount", "namespace %s is not in limits.namespaces; add it there, or write only %s for an account in each service's namespace", namespace, name)
	}
	return nil
}

// admits returns an error when the limits forbid a service as it is declared. What
// the service renders is checked by its agent. before is the service as it is, zero for a
// new one: the account that it acts as already needs no right.
func (p Project) admits(name string, spec Spec, before Service) error {
	namespace := cmp.Or(spec.Namespace, name)
	if p.Limits.allowsNamespace(namespace) {
		return p.admitsAccount(accountOf(name, spec, p.Limits), before)
	}
	return errcode.New(errcode.Forbidden, "namespace: %s is not one that project %s may use (%s); set namespace to one of them, or let an administrator allow it (axle projects update %s --allow-namespace)",
		namespace, p.Name, strings.Join(p.Limits.Namespaces, ", "), p.Name)
}

// project reads the project that something is in or moves to. A transaction
// that changes or deletes the project reads its contents, so of two concurrent
// transactions the later one retries.
func (f *projects) project(ctx context.Context, id string) (Project, error) {
	if err := event.DependsOn(ctx, event.Change{Kind: event.KindProject, Key: id}); err != nil {
		return Project{}, err
	}
	projects, err := f.store.ProjectsByID(ctx, []string{id})
	if err != nil {
		return Project{}, err
	}
	if len(projects) == 0 {
		return Project{}, errcode.New(errcode.NotFound, "project %s does not exist any more", id)
	}
	return projects[0], nil
}

// joined tells transactions that read a project's contents that these changed.
func joined(ctx context.Context, projectID string) error {
	return event.Append(ctx, event.Change{Kind: event.KindProjectMember, Key: projectID})
}

// SyncWindows returns the windows of the hub as a whole, and who manages them.
func (f *projects) SyncWindows(ctx context.Context) ([]SyncWindow, managed.Manager, error) {
	return f.store.HubWindows(ctx)
}

// SetSyncWindows replaces the windows of the hub as a whole. Services get them
// within moments (SettleLimits), the hub's own services never: a closed window
// must not prevent a fix of the agents that obey it. The same windows in
// another order change nothing.
func (f *projects) SetSyncWindows(ctx context.Context, by string, windows []SyncWindow) error {
	if err := specrules.CheckWindows("syncWindows", windows); err != nil {
		return err
	}
	return f.writer.Write(ctx, func(ctx context.Context) error {
		// A project that is created meanwhile begins with the previous windows.
		if err := event.DependsOn(ctx, event.Change{Kind: event.KindProject}); err != nil {
			return err
		}
		before, manager, err := f.SyncWindows(ctx)
		if err != nil {
			return err
		}
		same := slices.Equal(specrules.Windows(before), specrules.Windows(windows))
		next, err := managed.Part(ctx, "the hub's list of sync windows", manager, len(before) > 0, len(windows) > 0, !same)
		if err != nil || same && next == manager {
			return err
		}
		if err := f.store.SetHubWindows(ctx, windows, next); err != nil || same {
			return err
		}
		projects, err := f.store.Projects(ctx)
		if err != nil {
			return err
		}
		for _, p := range projects {
			p.Delivered = p.deliver(windows)
			if err := f.store.UpdateProject(ctx, p); err != nil {
				return err
			}
			if err := event.Append(ctx, event.Change{Kind: event.KindProject, Key: p.ID}); err != nil {
				return err
			}
		}
		return event.Record(ctx, event.Entry{Kind: "hub.sync_windows_changed", Object: "hub", By: by, Message: fmt.Sprintf("%d windows", len(windows))})
	})
}

// deliver returns what services of the project are given: each list sorted,
// whatever the order in which people wrote it.
func (p Project) deliver(hub []SyncWindow) Limits {
	l := p.Limits
	l.HubWindows = hub
	// The hub itself decides about these.
	l.Accounts, l.Domains, l.Clusters, l.Machines, l.Services, l.Previews, l.Applications = nil, nil, 0, 0, 0, 0, 0
	return l.ordered()
}

func (l Limits) ordered() Limits {
	l.Namespaces, l.Kinds, l.Accounts = specrules.Sorted(l.Namespaces), specrules.Sorted(l.Kinds), specrules.Sorted(l.Accounts)
	l.Domains = specrules.Sorted(l.Domains)
	l.SyncWindows, l.HubWindows = specrules.Windows(l.SyncWindows), specrules.Windows(l.HubWindows)
	return l
}

// reaching returns the part of a project's limits that applies to a service
// with this spec: the service's own account replaces the project's.
func (l Limits) reaching(s Spec) Limits {
	if s.ServiceAccount != "" {
		l.ServiceAccount = ""
	}
	return l
}

// SettleLimits gives every service the current limits of its project, in
// batches, and also completes what a killed process began. It is called when a
// project changed, and at intervals; when no project changed it reads nothing.
// Services that the change does not affect get no event.
func (f *revisions) SettleLimits(ctx context.Context) error {
	for after := ""; ; {
		var last string
		err := f.writer.Write(ctx, func(ctx context.Context) (err error) {
			last, err = f.settleLimits(ctx, after)
			return err
		})
		if err != nil {
			return fmt.Errorf("apply the limits of projects to their services: %w", err)
		}
		if last == "" {
			return nil
		}
	}
}

// settleLimits examines the services after an id, and returns the last one
// while there are more.
func (f *revisions) settleLimits(ctx context.Context, after string) (last string, err error) {
	services, err := f.moves.ServicesToLimit(ctx, after, readBatch)
	if err != nil {
		return "", err
	}
	if len(services) == 0 {
		return "", f.store.ProjectsSettled(ctx)
	}
	limits, err := f.limitsOf(ctx, services)
	if err != nil {
		return "", err
	}
	for i := range services {
		services[i].Limits = limits[services[i].ProjectID]
	}
	clusters, err := f.ClustersOf(ctx, services)
	if err != nil {
		return "", err
	}
	return services[len(services)-1].ID, f.resettleAll(ctx, services, clusters)
}

// resettleAll computes the spec digests of services after their limits changed,
// and appends those whose digest changed.
func (f *revisions) resettleAll(ctx context.Context, services []StoredService, clusters map[string]Cluster) error {
	ids := make([]string, len(services))
	for i, s := range services {
		ids[i] = s.ID
	}
	present, err := f.store.PresentRevisions(ctx, ids)
	if err != nil {
		return err
	}
	for i := range services {
		s := &services[i]
		cluster, known := clusters[s.ClusterID]
		if !known {
			continue
		}
		spec, sealed, before := s.Spec, s.Secrets, s.SpecDigest
		if r, ok := present[s.ID]; ok {
			spec, sealed = r.Spec, r.Secrets
		}
		if err := f.settle(s, spec, sealed, cluster); err != nil {
			return err
		}
		if s.SpecDigest == before {
			continue
		}
		if err := appendService(ctx, s.Service); err != nil {
			return err
		}
	}
	return f.moves.Settle(ctx, services)
}

// limitsOf returns the limits that services are to be given, by project.
func (f *revisions) limitsOf(ctx context.Context, services []StoredService) (map[string]Limits, error) {
	var ids []string
	for _, s := range services {
		ids = append(ids, s.ProjectID)
	}
	slices.Sort(ids)
	projects, err := f.store.ProjectsByID(ctx, slices.Compact(ids))
	limits := map[string]Limits{}
	for _, p := range projects {
		limits[p.ID] = p.Delivered
	}
	return limits, err
}
