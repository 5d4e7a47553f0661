package fleet

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet/specrules"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/risk"
)

// DefaultProject is the project that exists from the start and is used where
// none is named.
const DefaultProject = risk.Default

// DefaultProjectID is its id.
const DefaultProjectID = "prj_default"

// HubProject is the name that the project of the hub's own cluster gets.
const HubProject = risk.HubProject

// Project groups clusters, repositories and services for access.
type Project struct {
	ID          string
	Name        string
	Description string
	// Limits are what its services may touch, as declared; Delivered is Limits
	// with the hub's windows, as services are given it.
	Limits    Limits
	Delivered Limits
	ManagedBy managed.Manager
	// LimitsManagedBy is who manages Limits; nobody while there are none.
	LimitsManagedBy managed.Manager
	// CreatedAt is microseconds since 1970 UTC, as every time in this package.
	CreatedAt int64
	// Clusters and Services are counts, filled by reads.
	Clusters int
	Services int
}

// Trusted reports whether services of the project may act as the agent itself, and write
// cluster-scoped objects: those of the default project, and of projects in which only
// administrators have rights.
func (p Project) Trusted() bool { return Trusted(p.ID) }

// Trusted is Project.Trusted by the project's id.
func Trusted(projectID string) bool {
	return projectID == DefaultProjectID || identity.ForAdministrators(projectID)
}

// NewProject describes a project to create.
type NewProject struct {
	Name        string
	Description string
	Limits      Limits
	// AdministratorsOnly makes it a project in which no binding gives rights.
	AdministratorsOnly bool
}

// ProjectChange holds what UpdateProject changes; nil fields stay unchanged.
type ProjectChange struct {
	Description *string
	Limits      *Limits
}

// projects are the projects of the fleet.
type projects struct {
	times
	store  Store
	writer Writer
}

// CreateProject creates a project. Conflict when the name is taken.
func (f *projects) CreateProject(ctx context.Context, by string, n NewProject) (Project, error) {
	if err := specrules.CheckName("name", n.Name); err != nil {
		return Project{}, err
	}
	if err := n.Limits.check(); err != nil {
		return Project{}, err
	}
	prefix := "prj_"
	if n.AdministratorsOnly {
		prefix = identity.AdministratorsProject
	}
	p := Project{ID: identity.NewID(prefix), Name: n.Name, Description: n.Description, Limits: n.Limits, ManagedBy: managed.Created(ctx), CreatedAt: f.now()}
	if !n.Limits.Zero() {
		p.LimitsManagedBy = p.ManagedBy
	}
	err := f.writer.Write(ctx, func(ctx context.Context) error {
		// The windows of the hub are those of a moment ago; see SetSyncWindows.
		if err := event.DependsOn(ctx, event.Change{Kind: event.KindProject}); err != nil {
			return err
		}
		windows, _, err := f.store.HubWindows(ctx)
		if err != nil {
			return err
		}
		p.Delivered = p.deliver(windows)
		if err := f.store.InsertProject(ctx, p); err != nil {
			return err
		}
		return recordProject(ctx, p, "project.created", by, "")
	})
	if err != nil {
		return Project{}, err
	}
	return p, nil
}

func recordProject(ctx context.Context, p Project, kind, by, message string) error {
	if err := event.Append(ctx, event.Change{Kind: event.KindProject, Key: p.ID}); err != nil {
		return err
	}
	return event.Record(ctx, event.Entry{Kind: kind, Object: "project " + p.Name, By: by, Message: message})
}

// UpdateProject changes a project. Its services get new limits within moments
// (SettleLimits). Conflict when one of them is in a namespace that the new
// limits exclude: it would fail from then on.
func (f *projects) UpdateProject(ctx context.Context, by, name string, change ProjectChange) (Project, error) {
	if change.Limits != nil {
		if err := change.Limits.check(); err != nil {
			return Project{}, err
		}
	}
	var p Project
	err := f.writer.Write(ctx, func(ctx context.Context) error {
		before, err := f.store.ProjectByName(ctx, cmp.Or(name, DefaultProject), true)
		if err != nil {
			return err
		}
		p = before
		if change.Description != nil {
			p.Description = *change.Description
		}
		if change.Limits != nil {
			p.Limits = *change.Limits
			if reflect.DeepEqual(p.Limits.ordered(), before.Limits.ordered()) {
				p.Limits = before.Limits
			}
			if !slices.Equal(p.Limits.Namespaces, before.Limits.Namespaces) {
				if err := f.fits(ctx, p); err != nil {
					return err
				}
			}
		}
		if err := p.manage(ctx, before, change); err != nil {
			return err
		}
		if reflect.DeepEqual(p, before) {
			return nil
		}
		if err := f.dependOnProject(ctx, p); err != nil {
			return err
		}
		windows, _, err := f.store.HubWindows(ctx)
		if err != nil {
			return err
		}
		p.Delivered = p.deliver(windows)
		if err := f.store.UpdateProject(ctx, p); err != nil {
			return err
		}
		return recordProject(ctx, p, "project.updated", by, "")
	})
	if err != nil {
		return Project{}, err
	}
	return p, nil
}

// manage decides about a change by the caller: the limits have a manager of their own,
// and a change of nothing else is not one of the project.
func (p *Project) manage(ctx context.Context, before Project, change ProjectChange) (err error) {
	if change.Limits != nil {
		changes := !reflect.DeepEqual(p.Limits, before.Limits)
		p.LimitsManagedBy, err = managed.Part(ctx, "the list of limits of project "+p.Name, before.LimitsManagedBy, !before.Limits.Zero(), !p.Limits.Zero(), changes)
	}
	if err == nil && (change.Limits == nil || change.Description != nil) {
		p.ManagedBy, err = managed.Write(ctx, "project "+p.Name, before.ManagedBy, p.Description != before.Description)
	}
	return err
}

// dependOnProject makes the transaction retry when the project was changed, or
// something moved to it, after the transaction took its snapshot.
func (f *projects) dependOnProject(ctx context.Context, p Project) error {
	return event.DependsOn(ctx, event.Change{Kind: event.KindProject, Key: p.ID}, event.Change{Kind: event.KindProjectMember, Key: p.ID})
}

// fits returns Conflict when the project's limits exclude a service that exists.
func (f *projects) fits(ctx context.Context, p Project) error {
	used, err := f.store.NamespacesOfProject(ctx, p.ID)
	if err != nil {
		return err
	}
	for _, namespace := range slices.Sorted(maps.Keys(used)) {
		if !p.Limits.allowsNamespace(namespace) {
			return errcode.New(errcode.Conflict, "service %s is in namespace %s; allow it, or move or delete the service first", used[namespace], namespace)
		}
	}
	return nil
}

// Project returns a project by name, without counts; empty is the default one.
// NotFound.
func (f *projects) Project(ctx context.Context, name string) (Project, error) {
	if name == "" {
		name = DefaultProject
	}
	return f.store.ProjectByName(ctx, name, false)
}

// ProjectNames returns the names of those of the ids that exist.
func (f *projects) ProjectNames(ctx context.Context, ids ...string) (map[string]string, error) {
	projects, err := f.store.ProjectsByID(ctx, ids)
	names := make(map[string]string, len(projects))
	for _, p := range projects {
		names[p.ID] = p.Name
	}
	return names, err
}

// Projects returns all projects in order of name.
func (f *projects) Projects(ctx context.Context) ([]Project, error) { return f.store.Projects(ctx) }

// DeleteProject removes an empty project. Conflict when something is in it,
// or when it is the default one.
func (f *projects) DeleteProject(ctx context.Context, by, name string) error {
	return f.writer.Write(ctx, func(ctx context.Context) error {
		p, err := f.store.ProjectByName(ctx, name, true)
		if err != nil {
			return err
		}
		if p.ID == DefaultProjectID {
			return errcode.New(errcode.Conflict, "project %s cannot be deleted: it is used where no project is named", name)
		}
		if _, err := managed.Write(ctx, "project "+name, p.ManagedBy, true); err != nil {
			return err
		}
		if err := f.dependOnProject(ctx, p); err != nil {
			return err
		}
		if p.Clusters > 0 || p.Services > 0 {
			return errcode.New(errcode.Conflict, "project %s has %d clusters and %d services; delete or move them first", name, p.Clusters, p.Services)
		}
		if err := f.store.DeleteProject(ctx, p.ID); err != nil {
			return err
		}
		return recordProject(ctx, p, "project.deleted", by, "")
	})
}
