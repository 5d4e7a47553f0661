// Package inuse answers people about repositories that services use: which change is
// refused for them, and which sources are at risk. It tells nobody the names of what they
// may not read. hub/console calls it.
package inuse

import (
	"context"
	"maps"
	"slices"
	"strings"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
)

// Users counts who is bound to a repository by project, and names some within reach. The
// empty project is that of global services for all projects.
type Users func(ctx context.Context, repositoryID string, r identity.Reach) (projects map[string]int, seen []string, err error)

// Unused returns Conflict for a repository that services or global services are bound to,
// with the names of some within the caller's reach.
func (users Users) Unused(ctx context.Context, r gitcache.Repository, reach identity.Reach) error {
	projects, seen, err := users(ctx, r.ID, reach)
	total := 0
	for _, n := range projects {
		total += n
	}
	switch hidden := total - len(seen); {
	case err != nil || total == 0:
		return err
	case len(seen) == 0:
		return errcode.New(errcode.Conflict, "repository %q is used by services that you may not see; ask an administrator", r.Name)
	case hidden > 0:
		return errcode.New(errcode.Conflict, "repository %q is used by %s and %d more; delete or change them first", r.Name, strings.Join(seen, ", "), hidden)
	}
	return errcode.New(errcode.Conflict, "repository %q is used by %s; delete or change them first", r.Name, strings.Join(seen, ", "))
}

// Guarded returns a context in which the address of a repository is changed only with the
// right to change things in the projects of all who use it; may reports where the caller
// has it, and own is the repository's project.
func (users Users) Guarded(ctx context.Context, r gitcache.Repository, own identity.Scope, may func(identity.Scope) bool) context.Context {
	return gitcache.Guarded(ctx, func(ctx context.Context, field string) error {
		projects, _, err := users(ctx, r.ID, identity.Reach{})
		others := 0
		for project, n := range projects {
			if at := (identity.Scope{Project: project}); at != own && !may(at) {
				others += n
			}
		}
		if err == nil && others > 0 {
			err = errcode.New(errcode.Forbidden, "%s: %d service(s) of other projects use repository %q, and its address may change only with the right to change things there; register the new address as another repository, or ask an administrator", field, others, r.Name)
		}
		return err
	})
}

// Risks writes the sources at risk. names returns those of projects.
func Risks(ctx context.Context, all []fleet.Risk, names func(ctx context.Context, ids ...string) (map[string]string, error)) ([]*hubv1.SourceRisk, error) {
	projects := map[string]bool{}
	for _, r := range all {
		projects[r.ProjectID] = true
	}
	named, err := names(ctx, slices.Sorted(maps.Keys(projects))...)
	var out []*hubv1.SourceRisk
	for _, r := range all {
		one := &hubv1.SourceRisk{Object: r.Object, Project: r.Project, Field: r.Field, Url: r.URL, Repository: r.Name, RepositoryProject: named[r.ProjectID]}
		if r.Repository.URL != r.URL {
			one.RepositoryUrl = r.Repository.URL
		}
		out = append(out, one)
	}
	return out, err
}
