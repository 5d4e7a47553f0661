package console

import (
	"cmp"
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/spec/convert"
	"github.com/axle-cd/axle/hub/console/management"
	"github.com/axle-cd/axle/hub/fleet"
)

// service converts a service to the API's form without its objects: a list is
// an overview, and unpacking each service's objects would be its main cost.
func service(v fleet.ServiceView) *hubv1.Service {
	spec := &hubv1.ServiceSpec{}
	convert.Copy(spec, v.Spec)
	return &hubv1.Service{
		Id: v.ID, Cluster: v.Cluster, Name: v.Name, Namespace: v.Namespace, Project: v.Project, Spec: spec,
		DesiredRevision: v.Desired.SourceRevision, DesiredDigest: v.Desired.Digest, AppliedRevision: v.Status.SourceRevision, AppliedDigest: v.Status.TarballDigest,
		Sync: string(v.Sync), Reason: v.Reason, Health: cmp.Or(string(v.Status.Health), "Unknown"), Freshness: cmp.Or(string(v.Freshness), "Unknown"),
		PolledAt: v.PolledAt, ReportedAt: v.ReportedAt, Message: v.Message,
		Revision: v.Revision, Paused: v.Paused, PinnedRevision: v.PinnedRevision, Deleting: v.Deleting != "", NotActing: v.NotActing,
		CommitMessage: v.Desired.Message, CommitAuthor: v.Desired.Author, CommittedAt: v.Desired.CommittedAt,
		CreatedAt: v.CreatedAt, UpdatedAt: v.UpdatedAt, ParentId: v.ParentID,
		Counts: &hubv1.ComponentCounts{
			Total: int32(v.Status.Counts.Total), Healthy: int32(v.Status.Counts.Healthy), Progressing: int32(v.Status.Counts.Progressing),
			Degraded: int32(v.Status.Counts.Degraded), Other: int32(v.Status.Counts.Other),
		},
		Errors: serviceErrors(v), Sources: serviceSources(v), ManagedBy: management.Out(v.ManagedBy),
	}
}

func serviceSources(v fleet.ServiceView) []*hubv1.ServiceSource {
	out := make([]*hubv1.ServiceSource, 0, len(v.Sources))
	for _, s := range v.Sources {
		out = append(out, &hubv1.ServiceSource{
			Field: s.Field, Path: s.Path, Repository: s.Repository, Type: s.Kind, Ref: s.Ref, Folder: s.Folder, Chart: s.Chart, Version: s.Version,
			Revision: s.Delivered.SourceRevision, Digest: s.Delivered.Digest, Message: s.Delivered.Message, CommittedAt: s.Delivered.CommittedAt,
			FetchedAt: s.FetchedAt, Error: s.Error, ErrorSince: s.ErrorAt,
		})
	}
	return out
}

func revisionSources(r fleet.Revision) []*hubv1.ServiceSource {
	var out []*hubv1.ServiceSource
	for _, p := range r.Parts {
		out = append(out, &hubv1.ServiceSource{
			Field: p.Name, Path: p.Path, Revision: p.SourceRevision, Digest: p.Digest, Message: p.Message, CommittedAt: p.CommittedAt,
		})
	}
	return out
}

// serviceErrors returns the sources' errors as the hub knows them, then the agent's.
func serviceErrors(v fleet.ServiceView) []*hubv1.ServiceError {
	var out []*hubv1.ServiceError
	for _, e := range v.Status.Errors {
		out = append(out, &hubv1.ServiceError{Source: e.Source, Message: e.Message, Since: e.Since, Warning: e.Warning})
	}
	return out
}
