package fleet

import (
	"context"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/errcode"
)

// DefaultProject is the project that is there from the start and stands in
// where none is named.
const DefaultProject = "default"

// DefaultProjectID is its id.
const DefaultProjectID = "prj_default"

// Project groups clusters, repositories and services for access.
type Project struct {
	ID          string
	Name        string
	Description string
	// CreatedAt is microseconds since 1970 UTC, as every time in this package.
	CreatedAt int64
	// Clusters and Services are counts, filled by reads.
	Clusters int
	Services int
}

// CreateProject makes a project. Conflict when the name is taken.
func (f *Fleet) CreateProject(ctx context.Context, by, name, description string) (Project, error) {
	if err := checkLabel("name", name); err != nil {
		return Project{}, err
	}
	p := Project{ID: newID("prj_"), Name: name, Description: description, CreatedAt: f.now()}
	err := f.writer.Write(ctx, func(ctx context.Context) error {
		if err := f.store.InsertProject(ctx, p); err != nil {
			return err
		}
		if err := event.Append(ctx, event.Change{Kind: event.KindProject, Key: p.ID}); err != nil {
			return err
		}
		return event.Record(ctx, event.Entry{Kind: "project.created", Object: "project " + name, By: by})
	})
	if err != nil {
		return Project{}, err
	}
	return p, nil
}

// Project returns a project by name; empty is the default one. NotFound.
func (f *Fleet) Project(ctx context.Context, name string) (Project, error) {
	if name == "" {
		name = DefaultProject
	}
	return f.store.ProjectByName(ctx, name)
}

// Projects returns all projects in order of name.
func (f *Fleet) Projects(ctx context.Context) ([]Project, error) { return f.store.Projects(ctx) }

// DeleteProject removes an empty project. Conflict when something is in it,
// or when it is the default one.
func (f *Fleet) DeleteProject(ctx context.Context, by, name string) error {
	return f.writer.Write(ctx, func(ctx context.Context) error {
		p, err := f.store.ProjectByName(ctx, name)
		if err != nil {
			return err
		}
		if p.ID == DefaultProjectID {
			return errcode.New(errcode.Conflict, "project %s stays: it stands in where none is named", name)
		}
		if p.Clusters > 0 || p.Services > 0 {
			return errcode.New(errcode.Conflict, "project %s has %d clusters and %d services; delete or move them first", name, p.Clusters, p.Services)
		}
		if err := f.store.DeleteProject(ctx, p.ID); err != nil {
			return err
		}
		if err := event.Append(ctx, event.Change{Kind: event.KindProject, Key: p.ID}); err != nil {
			return err
		}
		return event.Record(ctx, event.Entry{Kind: "project.deleted", Object: "project " + name, By: by})
	})
}
