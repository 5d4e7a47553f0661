package fleet

import (
	"cmp"
	"context"

	"github.com/axle-cd/axle/internal/errcode"
)

// Diff is what applying a service would change, as computed by its agent.
type Diff struct {
	ServiceID string
	// Request is the request that it answers; 0 when there was none.
	Request        int64
	Revision       int64
	SourceRevision string
	MadeAt         int64
	ReportedAt     int64
	// Error says why there is no diff.
	Error string
	// Differences is the compressed list as the agent sent it; edges unpack it.
	Differences []byte
}

// DiffStore stores the last diff of each service.
type DiffStore interface {
	PutDiff(ctx context.Context, d Diff) error
	// Diff is zero when there is none.
	Diff(ctx context.Context, serviceID string) (Diff, error)
}

// StoreDiff stores an agent's diff. Diffs of other clusters' services are ignored.
func (f *reports) StoreDiff(ctx context.Context, clusterID string, d Diff) error {
	return f.writer.WriteBatched(ctx, func(ctx context.Context) error {
		rows, err := f.store.RowsByID(ctx, []string{d.ServiceID})
		if err != nil || len(rows) == 0 || rows[0].ClusterID != clusterID {
			return err
		}
		d.ReportedAt = f.now()
		return f.store.PutDiff(ctx, d)
	})
}

// DiffOf returns the last diff of a service and the number of the last request.
// With fresh the agent is asked to compute it again.
func (f *Fleet) DiffOf(ctx context.Context, by string, ref Ref, fresh bool) (d Diff, requested int64, err error) {
	if fresh {
		_, err = f.change(ctx, by, ref, "service.diff_requested", func(ctx context.Context, s *StoredService, c Cluster) (bool, string, error) {
			s.DiffRequest++
			return true, "", f.resettle(ctx, s, c)
		})
		if err != nil {
			return Diff{}, 0, err
		}
	}
	s, err := f.serviceFor(ctx, ref)
	if err != nil {
		return Diff{}, 0, err
	}
	if s.Deleting != "" {
		return Diff{}, 0, errcode.New(errcode.Conflict, "service %s is being deleted", ref)
	}
	d, err = f.store.Diff(ctx, s.ID)
	return d, s.DiffRequest, err
}

// SpecAt returns what an agent would get of a service with the spec and the
// values of a kept revision. Limits and the cluster's facts are the current ones.
func SpecAt(ctx context.Context, f *Fleet, now AgentSpec, revision int64) (AgentSpec, error) {
	r, err := f.store.Revision(ctx, now.Service.ID, revision)
	if err != nil {
		return now, err
	}
	if err := f.admitsRevision(ctx, now.Service, r.Spec); err != nil {
		return now, err
	}
	now.Service.Spec, now.Service.Revision, now.RevisionCreatedAt = r.Spec, revision, r.CreatedAt
	now.Service.Namespace = cmp.Or(r.Spec.Namespace, now.Service.Name)
	if all := f.fillAll(ctx, []AgentSpec{now}, []string{r.Secrets}); len(all) == 1 {
		return all[0], nil
	}
	return now, errcode.New(errcode.Unavailable, "the values of service %s cannot be read now", now.Service.Ref())
}
