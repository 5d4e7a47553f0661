package fleet

import "context"

// What hub/fleet/globals needs of this package to declare a service once and to
// make it on many clusters. A template is a StoredService without a cluster, whose
// ID is that of the global service.

// Declaring runs fn in a transaction that may call TakeValues. A dry run is fn's to
// roll back; refresh reads references to backends again.
func (f *Fleet) Declaring(ctx context.Context, dryRun, refresh bool, fn func(ctx context.Context) error) error {
	return f.staged(ctx, &staging{dryRun: dryRun, refresh: refresh}, fn)
}

// TakeValues moves the secret values out of a template's spec into a document, and
// names it and those of contexts and imports in Secrets.
func (f *Fleet) TakeValues(ctx context.Context, template *StoredService, before Service) error {
	return f.takeConfiguration(ctx, template, before)
}

// GiveValues gives a service that has a spec of its own the template's secret
// values, and the contexts and imports that its spec names, as the project may use
// them.
func (f *Fleet) GiveValues(ctx context.Context, s *StoredService, template, projectID string) error {
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

// BindValues records the contexts and imports that a service uses. References
// change with its template.
func (f *Fleet) BindValues(ctx context.Context, s Service) error {
	s.Spec.SecretRefs = nil
	return f.configuration.Bind(ctx, s.ID, usesOf(s.Spec))
}

// Admit puts a service into a project, with its limits. Forbidden when they
// exclude it, Invalid when its dependencies on the cluster form a cycle.
func (f *Fleet) Admit(ctx context.Context, s *StoredService, p Project, cluster Cluster) error {
	if err := p.admits(s.Name, s.Spec); err != nil {
		return err
	}
	s.ProjectID, s.Project, s.Limits = p.ID, p.Name, p.Delivered
	return f.checkCycles(ctx, cluster, s.Name, s.Spec)
}

// ProjectByID returns a project that something is in or moves to; a transaction
// that changes it meanwhile makes this one retry.
func (f *Fleet) ProjectByID(ctx context.Context, id string) (Project, error) {
	return f.project(ctx, id)
}

// Settle computes what is derived from a service's delivered spec; declared is set
// where that is the declared one.
func (f *Fleet) Settle(ctx context.Context, s *StoredService, cluster Cluster, declared bool) error {
	if declared {
		return f.settle(s, s.Spec, s.Secrets, cluster)
	}
	return f.resettle(ctx, s, cluster)
}
