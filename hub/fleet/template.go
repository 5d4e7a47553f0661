package fleet

import (
	"context"

	"github.com/axle-cd/axle/hub/fleet/binding"
)

// Templates is what hub/fleet/globals needs of a fleet to declare a service once and
// to make it on many clusters. A template is a StoredService without a cluster,
// whose ID is that of the global service.
type Templates struct{ *Fleet }

// Declaring runs fn in a transaction for TakeValues. fn rolls back a dry run.
func (f Templates) Declaring(ctx context.Context, dryRun, refresh bool, fn func(ctx context.Context) error) error {
	return f.staged(ctx, &staging{dryRun: dryRun, refresh: refresh}, fn)
}

// TakeValues moves the secret values out of a template's spec into a document, and
// names it and those of contexts and imports in Secrets.
func (f Templates) TakeValues(ctx context.Context, template *StoredService, before Service) error {
	return f.takeConfiguration(ctx, template, before)
}

// GiveValues gives a service with a spec of its own the template's secret values,
// and the contexts and imports that it names, as the project may use them.
func (f Templates) GiveValues(ctx context.Context, s *StoredService, template, projectID string) error {
	v, err := parseVersion(template)
	if err != nil {
		return err
	}
	of := *s
	of.ProjectID = projectID
	if v.Contexts, v.Imports, err = f.valueSets(ctx, of); err != nil {
		return err
	}
	s.Secrets, err = v.text()
	return err
}

// BindValues records what such a service uses; references are its template's.
func (f Templates) BindValues(ctx context.Context, s Service) error {
	s.Spec.SecretRefs = nil
	return f.configuration.Bind(ctx, s.ID, usesOf(s.Spec))
}

// Admit puts a service into a project, with its limits. Forbidden when they
// exclude it, Invalid when its dependencies on the cluster form a cycle.
func (f Templates) Admit(ctx context.Context, s *StoredService, p Project, cluster Cluster) error {
	if err := p.admits(s.Name, s.Spec); err != nil {
		return err
	}
	s.ProjectID, s.Project, s.Limits = p.ID, p.Name, p.Delivered
	return f.revisions.dependencies.Check(ctx, cluster, s.Name, s.Spec)
}

// ProjectByID returns a project that something is in or moves to; a transaction
// that changes it meanwhile makes this one retry.
func (f Templates) ProjectByID(ctx context.Context, id string) (Project, error) {
	return f.project(ctx, id)
}

// Settle computes what is derived from a service's delivered spec; declared is set
// where that is the declared one.
func (f Templates) Settle(ctx context.Context, s *StoredService, cluster Cluster, declared bool) error {
	if declared {
		return f.settle(s, s.Spec, s.Secrets, cluster)
	}
	return f.resettle(ctx, s, cluster)
}

// BindSources binds the sources of a template to repositories; see binding.Bind.
func (f Templates) BindSources(ctx context.Context, spec Spec, projectID string, had Bound, trusted bool) ([]string, error) {
	return binding.Bind(ctx, f.sources, spec, projectID, had, trusted)
}

// FollowSources fills in the sources of a service's spec, of the repositories that they
// are bound to.
func (f Templates) FollowSources(ctx context.Context, s *Service, repositories []string) error {
	places, err := binding.Follow(ctx, f.sources, s.Spec, repositories)
	s.follow(places)
	return err
}
