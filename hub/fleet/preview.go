package fleet

import (
	"cmp"
	"context"

	"github.com/axle-cd/axle/internal/errcode"
)

// SpecAt returns what an agent would get of a service with the spec and the
// values of a kept revision. Limits and the cluster's facts are the current ones.
func SpecAt(ctx context.Context, f *Fleet, now AgentSpec, revision int64) (AgentSpec, error) {
	r, err := f.store.Revision(ctx, now.Service.ID, revision)
	if err != nil {
		return now, err
	}
	now.Service.Spec, now.Service.Revision, now.RevisionCreatedAt = r.Spec, revision, r.CreatedAt
	now.Service.Namespace = cmp.Or(r.Spec.Namespace, now.Service.Name)
	if all := f.fillAll(ctx, []AgentSpec{now}, []string{r.Secrets}); len(all) == 1 {
		return all[0], nil
	}
	return now, errcode.New(errcode.Unavailable, "the values of service %s cannot be read now", now.Service.Ref())
}
