package fleet

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/errcode"
)

// Limits are what the services of a project may touch, and when. The hub
// refuses what it can judge by itself, where a service is; agents judge what
// was rendered. The zero value limits nothing.
type Limits struct {
	// Namespaces are where services may be and write, with * and ?; none is
	// everywhere.
	Namespaces []string `json:"namespaces,omitempty"`
	// Kinds are Kind or Kind.group, with * and ?; none is all.
	Kinds []string `json:"kinds,omitempty"`
	// ClusterScoped allows objects of the whole cluster outside of the default
	// project.
	ClusterScoped bool `json:"clusterScoped,omitempty"`
	// ServiceAccount acts for services that name none: NAME in the service's
	// namespace, or NAMESPACE/NAME.
	ServiceAccount string `json:"serviceAccount,omitempty"`
	// SyncWindows are the project's own.
	SyncWindows []SyncWindow `json:"syncWindows,omitempty"`
	// HubWindows are those of the hub as a whole; nobody declares them here.
	HubWindows []SyncWindow `json:"hubWindows,omitempty"`
}

const (
	// maxPatterns and maxPattern bound each list, which travels with each spec.
	maxPatterns = 100
	maxPattern  = 250
)

// Zero reports whether nothing is limited.
func (l Limits) Zero() bool {
	return len(l.Namespaces)+len(l.Kinds)+len(l.SyncWindows)+len(l.HubWindows) == 0 && !l.ClusterScoped && l.ServiceAccount == ""
}

func (l Limits) allowsNamespace(namespace string) bool {
	return len(l.Namespaces) == 0 || slices.ContainsFunc(l.Namespaces, func(pattern string) bool {
		ok, err := path.Match(pattern, namespace)
		return ok && err == nil
	})
}

// check returns an Invalid error about limits that cannot be.
func (l Limits) check() error {
	for at, patterns := range map[string][]string{"limits.namespaces": l.Namespaces, "limits.kinds": l.Kinds} {
		if len(patterns) > maxPatterns {
			return field(at, "lists more than %d", maxPatterns)
		}
		for i, pattern := range patterns {
			if _, err := path.Match(pattern, ""); err != nil || pattern == "" || len(pattern) > maxPattern || strings.ContainsAny(pattern, "/ \n") {
				return field(fmt.Sprintf("%s[%d]", at, i), "%.80q is no pattern; write a name, with * and ? for what may differ", pattern)
			}
		}
	}
	if err := l.checkAccount(); err != nil {
		return err
	}
	return checkWindowList("limits.syncWindows", l.SyncWindows)
}

// checkAccount refuses an account that agents would refuse to act as: a
// service that could be anywhere would borrow the rights of another namespace.
func (l Limits) checkAccount() error {
	namespace, name, elsewhere := strings.Cut(l.ServiceAccount, "/")
	switch {
	case l.ServiceAccount == "":
		return nil
	case !elsewhere:
		return checkLabel("limits.serviceAccount", l.ServiceAccount)
	case checkLabel("", namespace) != nil || checkLabel("", name) != nil:
		return field("limits.serviceAccount", "%.80q is no account; write NAME, of each service's own namespace, or NAMESPACE/NAME", l.ServiceAccount)
	case len(l.Namespaces) == 0 || !l.allowsNamespace(namespace):
		return field("limits.serviceAccount", "namespace %s is none of limits.namespaces; list it there, or write %s alone for an account of each service's own namespace", namespace, name)
	}
	return nil
}

// admits returns why a service may not be what it is declared, nil when it
// may. What the service renders is judged by its agent.
func (p Project) admits(name string, spec Spec) error {
	namespace := cmp.Or(spec.Namespace, name)
	if p.Limits.allowsNamespace(namespace) {
		return nil
	}
	return errcode.New(errcode.Forbidden, "namespace: %s is none of those that project %s may use (%s); set namespace to one of them, or let an administrator allow it (axle projects update %s --allow-namespace)",
		namespace, p.Name, strings.Join(p.Limits.Namespaces, ", "), p.Name)
}

// project looks at the project that something is in or comes to. Whoever changes
// or deletes the project looks at what it has, so each of the two runs again
// when the other one was first.
func (f *Fleet) project(ctx context.Context, id string) (Project, error) {
	if err := event.Rely(ctx, event.Change{Kind: event.KindProject, Key: id}); err != nil {
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

// joined tells those who look at what a project holds that there is more.
func joined(ctx context.Context, projectID string) error {
	return event.Append(ctx, event.Change{Kind: event.KindProjectMember, Key: projectID})
}

// SyncWindows returns the windows of the hub as a whole.
func (f *Fleet) SyncWindows(ctx context.Context) ([]SyncWindow, error) {
	return f.store.HubWindows(ctx)
}

// SetSyncWindows replaces the windows of the hub as a whole. Services take
// them within moments (SettleLimits), the hub's own ones never: a closed window
// must not keep the agents that obey it from being mended. The same windows in
// another order change nothing.
func (f *Fleet) SetSyncWindows(ctx context.Context, by string, windows []SyncWindow) error {
	if err := checkWindowList("syncWindows", windows); err != nil {
		return err
	}
	return f.writer.Write(ctx, func(ctx context.Context) error {
		// A project that is made meanwhile begins with the windows of before.
		if err := event.Rely(ctx, event.Change{Kind: event.KindProject}); err != nil {
			return err
		}
		before, err := f.store.HubWindows(ctx)
		if err != nil || slices.Equal(ordered(before), ordered(windows)) {
			return err
		}
		if err := f.store.SetHubWindows(ctx, windows); err != nil {
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

// deliver is what services of the project are given: each list in one order,
// whatever the order in which people wrote it.
func (p Project) deliver(hub []SyncWindow) Limits {
	l := p.Limits
	l.HubWindows = hub
	return l.ordered()
}

func (l Limits) ordered() Limits {
	l.Namespaces, l.Kinds = sorted(l.Namespaces), sorted(l.Kinds)
	l.SyncWindows, l.HubWindows = ordered(l.SyncWindows), ordered(l.HubWindows)
	return l
}

// sorted returns each text once, nil for none.
func sorted(texts []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(texts)))
}

// ordered returns each window once, nil for none.
func ordered(windows []SyncWindow) []SyncWindow {
	return slices.Compact(slices.SortedFunc(slices.Values(windows), func(a, b SyncWindow) int {
		return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
	}))
}

// reaching is what of a project's limits reaches a service that is declared
// so: an account of its own stands in place of the project's.
func (l Limits) reaching(s Spec) Limits {
	if s.ServiceAccount != "" {
		l.ServiceAccount = ""
	}
	return l
}

// SettleLimits gives every service what its project is limited to now, some in
// each transaction, and so ends what a killed process began. It is called when
// a project changed and now and then, when no project did and it finds nothing
// to look at. A service that the change does not reach is not told of it.
func (f *Fleet) SettleLimits(ctx context.Context) error {
	for after := ""; ; {
		var last string
		err := f.writer.Write(ctx, func(ctx context.Context) (err error) {
			last, err = f.settleLimits(ctx, after)
			return err
		})
		if err != nil {
			return fmt.Errorf("limit services to what their projects may do: %w", err)
		}
		if last == "" {
			return nil
		}
	}
}

// settleLimits looks at the services after an id, and returns the last of them
// while there are more.
func (f *Fleet) settleLimits(ctx context.Context, after string) (last string, err error) {
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

// resettleAll computes the spec digests of services after something that they
// are given changed, and tells of those whose digest is another one.
func (f *Fleet) resettleAll(ctx context.Context, services []StoredService, clusters map[string]Cluster) error {
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

// limitsOf returns what services are to be given, by project.
func (f *Fleet) limitsOf(ctx context.Context, services []StoredService) (map[string]Limits, error) {
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
